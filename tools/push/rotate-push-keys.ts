import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { rotateKeys } from "#tools/push-subscriptions/keys.ts";

export default tool({
  name: "rotate_push_keys",
  title: "Rotate the web push keys",
  description:
    "Gives the property a new VAPID key. New browsers subscribe with it. The others keep their old key, and get notifications as before, until their player opens the page again: it renews them.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({
    success: z.literal(true),
    public_key: z.string().describe("The new key: the casino's own app subscribes with it"),
    older: z.int().describe("Browsers with an older key"),
  }),
  faults: [],
  async handler(context) {
    const { publicKey, older } = await rotateKeys(context);
    context.audit({ entity: "push_keys", diff: { public_key: publicKey, older } });
    return { success: true as const, public_key: publicKey, older };
  },
});
