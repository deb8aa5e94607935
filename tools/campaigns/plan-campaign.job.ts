import { z } from "zod";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { REFRESH_EVERY, REFRESH_STATS } from "#tools/tracking/stats-refresh.ts";
import { holdIfChanged } from "./approval/approve.ts";
import { hasRest } from "./campaign/ab-test.ts";
import { type Campaign, changeStatus, findCampaign, orFail } from "./campaign/campaign.ts";
import chooseWinner from "./choose-winner.job.ts";
import deliverCampaign from "./delivery/deliver-campaign.job.ts";
import { finishIfDone } from "./delivery/finish.ts";
import { emitPlannedSkips } from "./delivery/send-events.ts";
import { plannedRules } from "./planning/audience.ts";
import { planPage } from "./planning/plan.ts";

// A chunk locks the campaign's row, and pausing or cancelling waits for it.
const CHUNK = 10_000;
// Fewer sends are found as quickly without statistics.
const WORTH_ANALYZING = 1_000;

/** Writes one send a recipient before anything is sent. Continues after a crash. */
export default job({
  name: "plan_campaign",
  attempts: 100,
  input: z.object({ campaignId: z.uuid() }),
  handler: (job, { campaignId }) => orFail(job, campaignId, () => plan(job, campaignId)),
});

async function plan(job: JobContext, campaignId: string): Promise<void> {
  for (;;) {
    job.signal.throwIfAborted();
    if (!(await job.transact((context) => planChunk(context, campaignId)))) break;
  }
  // Without statistics, each batch of the delivery would read all sends.
  await job.transact(
    ({ sql, property }) => sql`
      select analyze_sends() from campaigns
      where property_id = ${property.id} and id = ${campaignId} and audience_count >= ${WORTH_ANALYZING}`,
  );
  await job.transact((context) => startDelivery(context, campaignId));
}

/** Rows, cursor and count in one transaction. Answers whether there is more to plan. */
async function planChunk(context: Context, campaignId: string): Promise<boolean> {
  const { sql, property } = context;
  // PostgreSQL estimates the gate so high that it would compile it, which takes longer than running it.
  await sql`set local jit = off`;
  const found = await findCampaign(context, campaignId, { lock: true });
  if (found.status !== "queued" && found.status !== "sending") return false;
  // One that was paused before its start is sending already.
  const isNew = found.status === "queued" || found.started_at === null;
  if (isNew && (await holdIfChanged(context, found))) return false;
  if (found.status === "queued") await changeStatus(context, campaignId, "start");
  const campaign = isNew ? await start(context, found) : found;
  if (campaign.planned_at !== null) return false;
  // All chunks have one audience, even if its segments change in between.
  const rules = await plannedRules(context, campaign);
  const { count, last } = await planPage(context, campaign, CHUNK, rules);
  await emitPlannedSkips(context, campaignId);
  const isDone = count < CHUNK;
  await sql`
    update campaigns set plan_cursor = coalesce(${last}, plan_cursor), audience_count = audience_count + ${count},
      ${isDone ? sql`planned_at = now(),` : sql``} updated_at = now()
    where property_id = ${property.id} and id = ${campaignId}`;
  return !isDone;
}

/** Starts a campaign's time, and that of its test. */
async function start({ sql, property }: Tenant, campaign: Campaign): Promise<Campaign> {
  const { ab_test, ab_result } = campaign;
  await sql`
    update campaigns set started_at = now() where property_id = ${property.id} and id = ${campaign.id}`;
  if (!ab_test || ab_result) return campaign;
  const [started] = await sql<[{ ends: string }]>`
    with test as materialized (
      select started_at + make_interval(mins => ${ab_test.duration_minutes}) as ends from campaigns
      where property_id = ${property.id} and id = ${campaign.id}
    ), started as (
      update campaigns set ab_ends_at = ends, expires_from = case when ${hasRest(ab_test)} then ends end from test
      where property_id = ${property.id} and id = ${campaign.id}
    )
    select to_json(ends) #>> '{}' as ends from test`;
  return { ...campaign, ab_ends_at: started.ends };
}

async function startDelivery(context: Context, campaignId: string): Promise<void> {
  const { status, ab_ends_at } = await findCampaign(context, campaignId, { lock: true });
  if (status !== "sending") return;
  // Also after the choice: some waiting recipients may not have the winner yet.
  if (ab_ends_at) context.enqueue(chooseWinner, { campaignId }, { dedupe: campaignId, runAt: ab_ends_at });
  if (await finishIfDone(context, campaignId)) return;
  context.enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId });
  context.enqueue(REFRESH_STATS, { campaignId }, { dedupe: campaignId, runAt: REFRESH_EVERY });
}
