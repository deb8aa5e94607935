import { z } from "zod";

const secret = () => z.string().min(1).max(500);

/** Of Twilio or Telnyx. */
export const settings = z.discriminatedUnion("carrier", [
  z.strictObject({
    carrier: z.literal("twilio"),
    account_sid: z.string().regex(/^AC[0-9a-f]{32}$/i, "must be an account's SID, AC and 32 hex digits"),
    auth_token: secret(),
  }),
  z.strictObject({
    carrier: z.literal("telnyx"),
    account_sid: secret(),
    application_id: secret(),
    api_key: secret(),
    public_key: z
      .string()
      .refine(
        (key) => Buffer.from(key, "base64").length === 32,
        "must be the account's public key, 32 bytes in base64",
      ),
  }),
]);
export type RelaySettings = z.output<typeof settings>;
