import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { job } from "#runtime/operation.ts";
import { absent, type Campaign, findCampaign } from "./campaign.ts";
import { markConversions } from "./goal.ts";
import { keepStats } from "./kept-stats.ts";
import { countSends } from "./stats.ts";

/** Seconds between two countings of a campaign, at the least. */
export const REFRESH_EVERY = 15;
const SELDOM = 6 * 3600;
// Bounces and complaints come for days.
const FOR_SECONDS = 7 * 24 * 3600;
// A large campaign takes a second to count, and its counting no more than a twentieth of the time.
const SHARE = 20;

const COUNTED_A_SECOND = 20_000;
/** When each campaign may be asked for again, so that a thousand clicks ask once. */
const asked = new Map<string, number>();
const MOST_ASKED = 10_000;

/** Counts a campaign into its record: often while it is new, ever more seldom later. */
const refreshStats = job({
  name: "refresh_campaign_stats",
  attempts: 5,
  input: z.object({ campaignId: z.uuid() }),
  async handler({ transact }, { campaignId }) {
    const startedAt = performance.now();
    const campaign = await transact((context) => findCampaign(context, campaignId).catch(absent));
    if (!campaign) return;
    const { goal } = campaign;
    if (goal) await transact((context) => markConversions(context, campaignId, goal));
    const stats = await transact((context) => countSends(context, campaign));
    const took = (performance.now() - startedAt) / 1000;
    // Apart from the counting: who claims recipients waits for the campaign's row.
    await transact(async (context) => {
      await keepStats(context, campaignId, stats);
      const [row] = await context.sql<{ age: number | null }[]>`
        select extract(epoch from now() - started_at)::double precision as age from campaigns
        where property_id = ${context.property.id} and id = ${campaignId}`;
      const wait = nextIn(campaign, row?.age ?? null, took);
      if (wait !== null) context.enqueue(refreshStats, { campaignId }, { dedupe: campaignId, runAt: wait });
    });
  },
});
export default refreshStats;

/** Asks for the campaigns' countings soon: the larger one is, the later. */
export async function refreshSoon(
  { sql, property, enqueue }: Pick<Context, "sql" | "property" | "enqueue">,
  ids: readonly string[],
): Promise<void> {
  const now = performance.now();
  const due = ids.filter((id) => (asked.get(id) ?? 0) <= now);
  if (due.length === 0) return;
  if (asked.size > MOST_ASKED) asked.clear();
  const campaigns = await sql<{ id: string; audience_count: number }[]>`
    select c.id, c.audience_count from json_to_recordset(${due.map((id) => ({ id })) as never}::json) as d(id uuid)
    join campaigns c on c.property_id = ${property.id} and c.id = d.id`;
  for (const { id, audience_count } of campaigns) {
    const wait = Math.max(REFRESH_EVERY, audience_count / COUNTED_A_SECOND);
    asked.set(id, now + wait * 1000);
    enqueue(refreshStats, { campaignId: id }, { dedupe: id, runAt: wait });
  }
}

/** Seconds until the next counting, or null when no more is to come. */
function nextIn({ goal }: Pick<Campaign, "goal">, age: number | null, took: number): number | null {
  const lasts = FOR_SECONDS + (goal ? goal.window_hours * 3600 : 0);
  if (age === null || age > lasts) return null;
  return Math.min(SELDOM, Math.max(REFRESH_EVERY, took * SHARE, age / 10));
}
