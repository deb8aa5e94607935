import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { receiveInbound } from "./inbound.ts";
import { INBOUND_ACTIONS } from "./inbound-messages.table.ts";

export default tool({
  name: "receive_sms",
  title: "Hand in a text that came another way",
  description:
    "Takes in a text message as if its provider had brought it: STOP revokes, START lifts an earlier STOP, HELP is answered. For the operator alone, because a START that nobody wrote would be a forged consent. Without a provider it is how to try STOP out.",
  scope: "write",
  effect: "contact",
  access: "operator",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    from: z.string().trim().min(1).max(60).describe("The number that wrote"),
    to: z.string().trim().min(1).max(60).default("mailbox").describe("The number that was written to"),
    text: z.string().max(10_000).describe("What the player wrote"),
    messageId: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("One that was handed in before changes nothing"),
  },
  output: z.object({
    success: z.literal(true),
    message_id: z.uuid().nullable().describe("Null for a message that was handed in before"),
    action: z.enum(INBOUND_ACTIONS).nullable(),
  }),
  faults: ["invalid"],
  async handler(context, { from, to, text, messageId }) {
    const id = messageId ?? context.call.requestId;
    const told = { eventId: id, at: new Date(context.now()).toISOString(), kind: "inbound" as const };
    const source = { provider: "manual", providerId: null };
    const inbound = await receiveInbound(context, { ...told, from, to, text }, source);
    context.audit({ entity: "inbound_messages", entityId: inbound?.id ?? null });
    return { success: true as const, message_id: inbound?.id ?? null, action: inbound?.action ?? null };
  },
});
