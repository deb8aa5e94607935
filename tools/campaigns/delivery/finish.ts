import { literals } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { changeStatus, findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { settleLater } from "#tools/campaigns/campaign/jobs.ts";
import { countSends, keepStats } from "#tools/campaigns/stats/stats.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { REFRESH_EVERY, REFRESH_STATS } from "#tools/tracking/stats-refresh.ts";

/**
 * Ends a locked, planned campaign that is sending and has nothing left to send. Answers whether it did. A journey's
 * campaign has no end of its own.
 */
export async function finishIfDone(context: Context, id: string): Promise<boolean> {
  const { sql, property } = context;
  const [left] = await sql`
    select 1 from campaigns where property_id = ${property.id} and id = ${id} and journey_id is not null
    union all
    select 1 from campaign_sends
    where property_id = ${property.id} and campaign_id = ${id} and status in (${literals(WAITING_SENDS)}, 'sending')
    limit 1`;
  if (left) return false;
  const stats = await countSends(context, await findCampaign(context, id));
  await keepStats(context, id, stats);
  const { by_link: _links, ...totals } = stats;
  await changeStatus(context, id, "finish", { finished_at: "now" }, { stats: totals });
  context.enqueue(REFRESH_STATS, { campaignId: id }, { dedupe: id, runAt: REFRESH_EVERY });
  if (stats.unknown > 0) settleLater(context, { campaignId: id });
  return true;
}
