import { z } from "zod";
import { identifier } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { update } from "#runtime/operation/rows.ts";
import { type AbResult, type AbTest, METRICS, rated, type VariantCount } from "./campaign/ab-test.ts";
import { eventFields, findCampaign, nullIfDeleted, orFail } from "./campaign/campaign.ts";
import campaigns from "./campaigns.table.ts";
import deliverCampaign from "./delivery/deliver-campaign.job.ts";
import { markConversions, markRedemptions } from "./stats/conversions.ts";

const CHUNK = 10_000;

/**
 * Ends a campaign's test once its time is over: chooses the winner once, and gives it to the waiting recipients. It
 * chooses nothing while the campaign is paused; resuming enqueues the job again.
 */
const chooseWinner = job({
  name: "choose_winner",
  attempts: 100,
  input: z.object({ campaignId: z.uuid() }),
  handler: (job, { campaignId }) => orFail(job, campaignId, () => choose(job, campaignId)),
});
export default chooseWinner;

async function choose(job: JobContext, campaignId: string): Promise<void> {
  const campaign = await job.transact((context) => findCampaign(context, campaignId).catch(nullIfDeleted));
  if (!campaign?.ab_test) return;
  const { ab_test, goal } = campaign;
  if (goal && ab_test.metric === "conversion")
    await job.transact((context) => markConversions(context, campaignId, goal));
  if (ab_test.metric === "redeem") await job.transact((context) => markRedemptions(context, campaignId));
  const winner = await job.transact((context) => decide(context, campaignId, ab_test));
  for (let after: string | null = winner && NIL_UUID; after !== null && winner !== null; ) {
    job.signal.throwIfAborted();
    const from: string = after;
    after = await job.transact((context) => giveWinner(context, campaignId, { winner, after: from }));
  }
}

/** The winner, once the test is over; null while there is none. */
async function decide(context: Context, campaignId: string, test: AbTest): Promise<string | null> {
  const { sql, property } = context;
  // Before the campaign is locked: claims of its recipients wait for that lock.
  const counted = await countVariants(context, campaignId, test);
  const campaign = await findCampaign(context, campaignId, { lock: true }).catch(nullIfDeleted);
  if (!campaign || !["sending", "sent"].includes(campaign.status)) return null;
  if (campaign.ab_result) return campaign.ab_result.winner_id;
  const [clock] = await sql<{ is_over: boolean; at: string }[]>`
    select ab_ends_at <= clock_timestamp() as is_over, to_json(clock_timestamp()) #>> '{}' as at
    from campaigns where property_id = ${property.id} and id = ${campaignId}`;
  if (!clock?.is_over) {
    const runAt = campaign.ab_ends_at ?? 0;
    context.enqueue(chooseWinner, { campaignId }, { dedupe: campaignId, runAt });
    return null;
  }
  const ab_result: AbResult = { ...winnerOf(test, counted), decided_at: clock.at };
  const row = await update(context, campaigns, campaignId, { ab_result });
  context.emit("campaign.winner_selected", eventFields(row));
  return ab_result.winner_id;
}

type Counted = Omit<VariantCount, "rate">;

async function countVariants(
  { sql, property }: Tenant,
  campaignId: string,
  { variants, metric }: AbTest,
): Promise<Counted[]> {
  const rows = await sql<Counted[]>`
    select variant_id as id, count(*)::int as sample, count(${identifier(METRICS[metric])})::int as count
    from campaign_sends
    where property_id = ${property.id} and campaign_id = ${campaignId} and variant_id is not null
      and status in ('sent', 'delivered')
    group by variant_id`;
  return variants.map(({ id }) => rows.find((row) => row.id === id) ?? { id, sample: 0, count: 0 });
}

/** The variant with the highest rate; the fallback at a tie, or when a variant had too few recipients. */
export function winnerOf(test: AbTest, counted: readonly Counted[]): Omit<AbResult, "decided_at"> {
  const { variants, fallback_variant_id, metric, min_sample } = test;
  const fallback = fallback_variant_id ?? variants[0]!.id;
  const figures = counted.map(rated);
  const ended = (reason: AbResult["reason"], winner_id: string) => {
    return { winner_id, reason, metric, variants: figures };
  };
  if (counted.some(({ sample }) => sample < min_sample)) return ended("too_few", fallback);
  // In whole numbers: rounded quotients could hide a tie.
  const ahead = (one: Counted, other: Counted) => one.count * other.sample - other.count * one.sample;
  const best = counted.filter((one) => counted.every((other) => ahead(one, other) >= 0));
  return best.length === 1 ? ended("best", best[0]!.id) : ended("tie", fallback);
}

/**
 * Gives the winner to the next waiting sends. Answers the send to continue after; null at the end. The locked sends are
 * found again by their range: in a plan kept from a small table, a join would compare all of them with each other.
 */
async function giveWinner(
  { sql, property, enqueue }: Context,
  campaignId: string,
  { winner, after }: { winner: string; after: string },
): Promise<string | null> {
  const [released] = await sql<{ last: string | null; count: number }[]>`
    with picked as materialized (
      select id from campaign_sends
      where property_id = ${property.id} and campaign_id = ${campaignId} and id > ${after}
        and status = 'deferred' and variant_id is null
      order by id limit ${CHUNK} for update
    ), given as (
      update campaign_sends s
      set status = 'pending', skip_reasons = '{}', scheduled_for = null, variant_id = ${winner}, updated_at = now()
      where s.property_id = ${property.id} and s.campaign_id = ${campaignId} and s.id > ${after}
        and s.id <= (select id from picked order by id desc limit 1)
        and s.status = 'deferred' and s.variant_id is null
    )
    select count(*)::int as count, (array_agg(id order by id))[${CHUNK}::int] as last from picked`;
  // One delivery sends all chunks; one for each chunk would take all the room of the queue.
  if (released!.count > 0 && after === NIL_UUID) {
    enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId });
  }
  return released!.last;
}
