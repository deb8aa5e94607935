import { z } from "zod";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { rotateKeys } from "#runtime/identity/signing-keys.ts";
import { tool } from "#runtime/operation/operation.ts";

export default tool({
  name: "rotate_signing_key",
  title: "Rotate the key that signs tokens",
  description:
    "Makes a new key for signing session tokens and consent receipts. Every process uses it within a second. Tokens of the old key stay valid until they expire, and /.well-known/jwks.json still lists it.",
  scope: "write",
  effect: "change",
  access: "operator",
  realm: "system",
  input: {},
  output: z.object({
    success: z.literal(true),
    kid: z.string().describe("The key that signs now"),
    retired: z.array(z.string()).describe("The previous keys"),
  }),
  faults: [],
  async handler({ sql, config, audit }) {
    const { kid, retired } = await rotateKeys(sql, config);
    await directoryChanged(sql);
    audit({ entity: "signing_keys", entityId: kid, diff: { retired } });
    return { success: true as const, kid, retired };
  },
});
