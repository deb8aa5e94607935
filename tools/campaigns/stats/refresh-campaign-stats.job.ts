import type { Tenant } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { type Campaign, findCampaign, nullIfDeleted } from "#tools/campaigns/campaign/campaign.ts";
import { REFRESH_EVERY, REFRESH_STATS } from "#tools/tracking/stats-refresh.ts";
import { markConversions, markRedemptions } from "./conversions.ts";
import { countHours, keepHours } from "./hours.ts";
import { COUNTED_ANEW, countSends, keepStats } from "./stats.ts";

const SELDOM = 6 * 3600;
// Bounces and complaints come for days.
const FOR_SECONDS = 7 * 24 * 3600;
// A large campaign takes a second to count. Counting takes at most a twentieth of the time.
const SHARE = 20;

/** Counts a campaign into its record: often while it is new, ever more seldom later. */
export default job({
  ...REFRESH_STATS,
  async handler({ transact }, { campaignId }) {
    const startedAt = performance.now();
    const campaign = await transact((context) => findCampaign(context, campaignId).catch(nullIfDeleted));
    if (!campaign) return;
    const { goal } = campaign;
    if (goal) await transact((context) => markConversions(context, campaignId, goal));
    await transact((context) => markRedemptions(context, campaignId));
    const stats = await transact((context) => countSends(context, campaign));
    const isLarge = campaign.audience_count > COUNTED_ANEW;
    const hours = isLarge ? await transact((context) => countHours(context, campaignId)) : null;
    const took = (performance.now() - startedAt) / 1000;
    // Not in the transaction of the count: a claim of recipients waits for the campaign's row.
    await transact(async (context) => {
      await keepStats(context, campaignId, stats);
      if (hours) await keepHours(context, campaignId, hours);
      const wait = nextIn(campaign, await secondsSinceStart(context, campaignId), took);
      if (wait !== null) context.enqueue(REFRESH_STATS, { campaignId }, { dedupe: campaignId, runAt: wait });
    });
  },
});

async function secondsSinceStart({ sql, property }: Tenant, id: string): Promise<number | null> {
  const [row] = await sql<{ age: number | null }[]>`
    select extract(epoch from now() - started_at)::double precision as age from campaigns
    where property_id = ${property.id} and id = ${id}`;
  return row?.age ?? null;
}

/** Seconds until the next count; null after the last one. */
function nextIn({ goal }: Pick<Campaign, "goal">, age: number | null, took: number): number | null {
  const lasts = FOR_SECONDS + (goal ? goal.window_hours * 3600 : 0);
  if (age === null || age > lasts) return null;
  return Math.min(SELDOM, Math.max(REFRESH_EVERY, took * SHARE, age / 10));
}
