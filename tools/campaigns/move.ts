import type { Context } from "#runtime/context.ts";
import type { EventName } from "#runtime/events.ts";
import { Fault } from "#runtime/faults.ts";
import type { JobContext, Row } from "#runtime/operation.ts";
import { update } from "#runtime/rows.ts";
import { absent, type Campaign, findCampaign, type Status, thin } from "./campaign.ts";
import campaigns from "./campaigns.table.ts";
import { keepStats } from "./kept-stats.ts";
import refreshStats, { REFRESH_EVERY } from "./refresh-campaign-stats.job.ts";
import { settleLater } from "./settle-sends.job.ts";
import { countSends } from "./stats.ts";

interface Action {
  from: readonly Status[];
  to: Status;
  event: EventName | null;
  /** What the caller asked for, as the refusal says it. */
  words: string;
}

/** Every way from one state to another. */
export const ACTIONS = {
  schedule: {
    from: ["draft", "scheduled"],
    to: "scheduled",
    event: "campaign.scheduled",
    words: "be scheduled",
  },
  unschedule: { from: ["scheduled"], to: "draft", event: "campaign.unscheduled", words: "be unscheduled" },
  send: { from: ["draft", "scheduled", "failed"], to: "queued", event: "campaign.started", words: "be sent" },
  start: { from: ["queued"], to: "sending", event: null, words: "start" },
  pause: { from: ["sending"], to: "paused", event: "campaign.paused", words: "be paused" },
  resume: { from: ["paused"], to: "sending", event: "campaign.resumed", words: "be resumed" },
  cancel: {
    from: ["scheduled", "queued", "sending", "paused"],
    to: "cancelled",
    event: "campaign.cancelled",
    words: "be cancelled",
  },
  finish: { from: ["sending"], to: "sent", event: "campaign.sent", words: "finish" },
  fail: { from: ["scheduled", "queued", "sending"], to: "failed", event: "campaign.failed", words: "fail" },
} as const satisfies Record<string, Action>;

/** The campaign, locked, when the action is allowed now; `conflict` naming its state when it is not. */
export async function lockFor(context: Context, id: string, action: keyof typeof ACTIONS): Promise<Campaign> {
  const campaign = await findCampaign(context, id, { lock: true });
  checkState(campaign, action);
  return campaign;
}

/** Throws `conflict`, naming the state, when the action is not allowed in it. */
export function checkState({ status }: Pick<Campaign, "status">, action: keyof typeof ACTIONS): void {
  const { from, words }: Action = ACTIONS[action];
  if (from.includes(status)) return;
  throw new Fault("conflict", {
    message: `The campaign is ${status}; it can ${words} while it is ${from.join(" or ")}.`,
  });
}

/** Puts a locked campaign into the action's state, with its event. */
export async function move(
  context: Context,
  id: string,
  action: keyof typeof ACTIONS,
  values: object = {},
  about: object = {},
): Promise<Row> {
  const { to, event }: Action = ACTIONS[action];
  const row = await update(context, campaigns, id, { status: to, status_reason: null, ...values });
  if (event) context.emit(event, { ...thin(row), ...about });
  context.audit({ entity: "campaigns", entityId: id });
  return row;
}

/** A locked campaign that can never be sent as it is, with the reason. */
export async function fail(context: Context, id: string, reason: string): Promise<Row> {
  settleLater(context, { campaignId: id });
  return move(context, id, "fail", { status_reason: reason.slice(0, 1000), finished_at: "now" });
}

/** Ends a locked, planned campaign that is sending and has nothing left to send. Answers whether it did. */
export async function finishIfDone(context: Context, id: string): Promise<boolean> {
  const { sql, property } = context;
  const [left] = await sql`
    select 1 from campaign_sends
    where property_id = ${property.id} and campaign_id = ${id} and status in ('pending', 'deferred', 'sending')
    limit 1`;
  if (left) return false;
  const stats = await countSends(context, { id, status: "sending" });
  await keepStats(context, id, stats);
  const { by_link: _links, ...totals } = stats;
  await move(context, id, "finish", { finished_at: "now" }, { stats: totals });
  context.enqueue(refreshStats, { campaignId: id }, { dedupe: id, runAt: REFRESH_EVERY });
  if (stats.unknown > 0) settleLater(context, { campaignId: id });
  return true;
}

/** Runs a campaign's job. What no other attempt can repair makes the campaign fail, and says so in it. */
export async function orFail(job: JobContext, id: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const lasting = error instanceof Fault && error.status < 500;
    if (job.signal.aborted || !(lasting || job.isLast)) throw error;
    const reason = lasting
      ? error.message
      : "The job failed too often; see the log. Send the campaign again to go on.";
    await job.transact(async (context) => {
      const campaign = await findCampaign(context, id, { lock: true }).catch(absent);
      if (!campaign) return;
      job.log.error({ err: error, campaignId: id }, "campaign failed");
      if ((ACTIONS.fail.from as readonly Status[]).includes(campaign.status)) {
        await fail(context, id, reason);
      }
    });
  }
}
