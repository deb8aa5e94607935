import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";

/**
 * Reference to the job that settles sends without an outcome: of a campaign, or one test send, which has no campaign.
 * The job stands above the rooms that enqueue it.
 */
export const SETTLE_SENDS = {
  name: "settle_sends",
  attempts: 20,
  input: z.union([z.object({ campaignId: z.uuid() }), z.object({ sendId: z.uuid() })]),
};
export type SettleInput = z.output<typeof SETTLE_SENDS.input>;

/** The time that a provider has to name the outcome of a message. */
export const SETTLE_AFTER_SECONDS = 24 * 3600;

/** Settles sends that have no outcome, a day after their claim; the oldest was claimed `age` seconds ago. */
export function settleLater({ enqueue }: Pick<Context, "enqueue">, input: SettleInput, age = 0): void {
  const dedupe = "sendId" in input ? input.sendId : input.campaignId;
  enqueue(SETTLE_SENDS, input, { dedupe, runAt: Math.max(0, SETTLE_AFTER_SECONDS - age) + 60 });
}
