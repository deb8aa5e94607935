import { z } from "zod";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { rotateKeys } from "#runtime/identity/signing-keys.ts";
import { tool } from "#runtime/operation/operation.ts";

export default tool({
  name: "rotate_signing_key",
  title: "Rotate the key that signs tokens",
  description:
    "Signs session tokens and consent receipts with a new key from now on, in every process within a second. Tokens of the former key are good until they expire, and /.well-known/jwks.json goes on to name it.",
  scope: "write",
  effect: "change",
  access: "operator",
  realm: "system",
  input: {},
  output: z.object({
    success: z.literal(true),
    kid: z.string().describe("The key that signs now"),
    retired: z.array(z.string()).describe("The keys that did until now"),
  }),
  faults: [],
  async handler({ sql, config, audit }) {
    const { kid, retired } = await rotateKeys(sql, config);
    await directoryChanged(sql);
    audit({ entity: "signing_keys", entityId: kid, diff: { retired } });
    return { success: true as const, kid, retired };
  },
});
