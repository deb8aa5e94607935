import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Actor } from "#runtime/operation/context.ts";
import { lockRow } from "#runtime/operation/crud.ts";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import suppressions, { PERMANENT_REASONS, type SuppressionReason } from "./suppressions.table.ts";

const WISH =
  "The person requested this suppression ($reason). Record a new consent with consent_record, or have a signed-in admin or manager of the property lift it.";

/** Suppressions that only people lift, each with its meaning. */
const FOR_PEOPLE: Partial<Record<SuppressionReason, string>> = {
  unsubscribed: WISH,
  stop_keyword: WISH,
  complaint: WISH,
  needs_review: WISH,
  banned:
    "The address is of a player who was banned or has died (banned). Have a signed-in admin or manager of the property lift it.",
};

export default tool({
  name: "delete_suppression",
  title: "Lift a suppression",
  description:
    "Lifts a suppression; the row stays as evidence. Nobody can lift erased and self_excluded. Only a signed-in admin or manager can lift a person's own request (unsubscribed, stop_keyword, complaint, and needs_review, which may be one) or banned, to correct a mistake. Record a new opt-in with consent_record.",
  scope: "write",
  effect: "destroy",
  input: { id: z.uuid().describe("From list_suppressions") },
  output: z.object({ success: z.literal(true) }),
  faults: ["conflict", "not_found"],
  crud: { table: suppressions, verb: "delete" },
  async handler(context, { id }) {
    const { call, emit, audit } = context;
    const current = await lockRow(context, suppressions, id);
    refuse(current.reason, call.actor);
    context.ask?.({ state: id, sentences: () => liftWords(current) });
    if (current.lifted_at === null) {
      const row = await update(context, suppressions, id, { lifted_at: "now", lifted_by: call.actor.id });
      emit("player.suppression_lifted", row);
    }
    audit({ entityId: id, diff: { reason: current.reason, channel: current.channel } });
    return { success: true as const };
  },
});

function liftWords({ channel, reason, created_at }: RowOf<typeof suppressions.columns>): string[] {
  return [
    `This lifts a suppression of ${channel}, for the reason ${reason}, of ${created_at}: messages may go to its address again. A new suppression can be made.`,
  ];
}

function refuse(reason: SuppressionReason, actor: Actor): void {
  if (PERMANENT_REASONS.includes(reason)) {
    throw new Fault("conflict", { message: `A suppression of reason ${reason} cannot be lifted.` });
  }
  const meaning = FOR_PEOPLE[reason];
  if (meaning && actor.type !== "user" && actor.type !== "system") {
    throw new Fault("conflict", { message: meaning.replace("$reason", reason) });
  }
}
