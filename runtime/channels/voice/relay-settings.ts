import { z } from "zod";
import { credential } from "../provider/vendor-api.ts";

/** Of Twilio or Telnyx. */
export const settings = z.discriminatedUnion("carrier", [
  z.strictObject({
    carrier: z.literal("twilio"),
    account_sid: z.string().regex(/^AC[0-9a-f]{32}$/i, "must be an account's SID, AC and 32 hex digits"),
    auth_token: credential(),
  }),
  z.strictObject({
    carrier: z.literal("telnyx"),
    account_sid: credential(),
    application_id: credential(),
    api_key: credential(),
    public_key: z
      .string()
      .refine(
        (key) => Buffer.from(key, "base64").length === 32,
        "must be the account's public key, 32 bytes in base64",
      ),
  }),
]);
export type RelaySettings = z.output<typeof settings>;
