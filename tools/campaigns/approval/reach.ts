import type { Context, Reach, Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { estimatedCost, volumeOf } from "#tools/campaigns/preflight/cost.ts";
import { checkReadiness } from "#tools/campaigns/preflight/readiness.ts";

/** The reach of sending a campaign to `audience` players, or once it has started to those whose messages wait. */
export function reachOf(context: Context, campaign: Campaign, audience: number | null): Reach {
  const players = async () =>
    campaign.started_at === null ? audience : await countPending(context, campaign.id);
  return {
    audience,
    players,
    cost: async () => {
      const messages = await players();
      return messages === null ? null : priceOf(context, campaign, messages);
    },
  };
}

/** Messages that are planned and not sent. */
export async function countPending({ sql, property }: Tenant, campaignId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from campaign_sends
    where property_id = ${property.id} and campaign_id = ${campaignId} and status in ('pending', 'deferred')`;
  return row!.count;
}

/** At most: players whom the gate blocks cost nothing. */
async function priceOf(context: Context, campaign: Campaign, messages: number): Promise<number | null> {
  const { samples } = await checkReadiness(context, campaign);
  const { cost } = await estimatedCost(context, campaign, volumeOf(samples, messages));
  return cost === null ? 0 : cost.amount;
}
