import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { type JobContext, job } from "#runtime/operation.ts";
import { hasRest } from "./ab-test.ts";
import { announceSkipped } from "./announce.ts";
import { plannedRules } from "./audience.ts";
import { type Campaign, findCampaign } from "./campaign.ts";
import chooseWinner from "./choose-winner.job.ts";
import deliverCampaign from "./deliver-campaign.job.ts";
import { finishIfDone, move, orFail } from "./move.ts";
import { planPage } from "./planning.ts";
import refreshStats, { REFRESH_EVERY } from "./refresh-campaign-stats.job.ts";

// One chunk holds the campaign's row; someone who pauses or cancels waits for it.
const CHUNK = 10_000;
// Fewer sends are found as quickly without statistics.
const WORTH_ANALYZING = 1_000;

/** Writes one row a recipient before anything is sent. Goes on from where a crash left it. */
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
  // Before anything is sent: a delivery that is planned without statistics reads all sends for each batch.
  await job.transact(
    ({ sql, property }) => sql`
      select analyze_sends() from campaigns
      where property_id = ${property.id} and id = ${campaignId} and audience_count >= ${WORTH_ANALYZING}`,
  );
  await job.transact((context) => handOver(context, campaignId));
}

/** Rows, cursor and count in one transaction. Answers whether there is more to plan. */
async function planChunk(context: Context, campaignId: string): Promise<boolean> {
  const { sql, property } = context;
  // The planner takes the gate for so costly that compiling it would take longer than asking it.
  await sql`set local jit = off`;
  const found = await findCampaign(context, campaignId, { lock: true });
  if (found.status === "queued") await move(context, campaignId, "start", { started_at: "now" });
  else if (found.status !== "sending") return false;
  const campaign = found.status === "queued" ? await startTest(context, found) : found;
  if (campaign.planned_at !== null) return false;
  // All chunks are of one audience, whatever becomes of its segments in between.
  const rules = await plannedRules(context, campaign);
  const { count, last } = await planPage(context, campaign, CHUNK, rules);
  await announceSkipped(context, campaignId);
  const done = count < CHUNK;
  await sql`
    update campaigns set plan_cursor = coalesce(${last}, plan_cursor), audience_count = audience_count + ${count},
      planned_at = case when ${done} then now() end, updated_at = now()
    where property_id = ${property.id} and id = ${campaignId}`;
  return !done;
}

/** The time of a campaign's test runs from its start. */
async function startTest({ sql, property }: Context, campaign: Campaign): Promise<Campaign> {
  const { ab_test, ab_result } = campaign;
  if (!ab_test || ab_result) return campaign;
  const [started] = await sql<{ ends: string }[]>`
    with test as (select now() + make_interval(mins => ${ab_test.duration_minutes}) as ends)
    update campaigns set ab_ends_at = ends, expires_from = case when ${hasRest(ab_test)} then ends end from test
    where property_id = ${property.id} and id = ${campaign.id}
    returning to_json(ends) #>> '{}' as ends`;
  return { ...campaign, ab_ends_at: started!.ends };
}

async function handOver(context: Context, campaignId: string): Promise<void> {
  const { status, ab_ends_at } = await findCampaign(context, campaignId, { lock: true });
  if (status !== "sending") return;
  // Also where one has been chosen: who waits for it may not have it yet.
  if (ab_ends_at) context.enqueue(chooseWinner, { campaignId }, { dedupe: campaignId, runAt: ab_ends_at });
  if (await finishIfDone(context, campaignId)) return;
  context.enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId });
  context.enqueue(refreshStats, { campaignId }, { dedupe: campaignId, runAt: REFRESH_EVERY });
}
