import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { receiveInbound } from "./inbound.ts";
import { INBOUND_ACTIONS } from "./inbound-messages.table.ts";

export default tool({
  name: "receive_sms",
  title: "Hand in a text that came another way",
  description:
    "Receives a text message as if a provider had delivered it: STOP revokes, START lifts an earlier STOP, HELP is answered. Only the operator may call it, because a START that nobody wrote would be a forged consent. Use it to try STOP out without a provider.",
  scope: "write",
  effect: "contact",
  access: "operator",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    from: z.string().trim().min(1).max(60).describe("The sender's number"),
    to: z.string().trim().min(1).max(60).default("mailbox").describe("The receiving number"),
    text: z.string().max(10_000).describe("The player's text"),
    messageId: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("The message's own id. A repeated id changes nothing"),
  },
  output: z.object({
    success: z.literal(true),
    message_id: z.uuid().nullable().describe("Null for a repeated message"),
    action: z.enum(INBOUND_ACTIONS).nullable(),
  }),
  faults: ["invalid"],
  async handler(context, { from, to, text, messageId }) {
    const id = messageId ?? context.call.requestId;
    // The clock of the ledger: a text that follows a consent is later than that.
    const [clock] = await context.sql<{ at: string }[]>`select to_json(now()) #>> '{}' as at`;
    const base = { eventId: id, at: clock!.at, kind: "inbound" as const };
    const source = { provider: "manual", providerId: null };
    const inbound = await receiveInbound(context, { ...base, from, to, text }, source);
    context.audit({ entity: "inbound_messages", entityId: inbound?.id ?? null });
    return { success: true as const, message_id: inbound?.id ?? null, action: inbound?.action ?? null };
  },
});
