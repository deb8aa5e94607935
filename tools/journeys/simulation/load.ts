import { sql } from "#db/sql.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { type Campaign, findCampaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { audienceSql } from "#tools/campaigns/planning/audience.ts";
import { estimatedCost, volumeOf } from "#tools/campaigns/preflight/cost.ts";
import { checkReadiness } from "#tools/campaigns/preflight/readiness.ts";
import { ownProviders } from "#tools/providers/choose.ts";
import type { SimulatedOutcome } from "./answer.ts";

/** Minutes that a peak covers. */
const PEAK_MINUTES = 15;
/** Scheduled campaigns that are compared. */
const MOST_CAMPAIGNS = 50;

/** The cost of each node's messages. */
export async function costs(context: Context, journeyId: string): Promise<SimulatedOutcome["cost"]> {
  const { sql: transaction, property } = context;
  const nodes = await transaction<{ node: string; campaign_id: string; messages: number }[]>`
    select n.node, n.campaign_id, (
        select count(*)::int from campaign_sends s
        where s.property_id = ${property.id} and s.campaign_id = n.campaign_id and s.status = 'sent') as messages
    from journey_nodes n
    where n.property_id = ${property.id} and n.journey_id = ${journeyId} and n.campaign_id is not null
    order by n.node`;
  const found: SimulatedOutcome["cost"] = [];
  for (const { node, campaign_id, messages } of nodes) {
    const campaign = await findCampaign(context, campaign_id);
    const rendered =
      campaign.channel === "sms" || campaign.channel === "voice"
        ? (await checkReadiness(context, campaign)).rendered
        : [];
    const { cost } = await estimatedCost(context, campaign, volumeOf(rendered, messages));
    if (cost) found.push({ node, ...cost });
  }
  return found;
}

/** The busiest quarter of an hour of each channel, beside the rate of its provider. */
export async function peaks(context: Tenant): Promise<SimulatedOutcome["peaks"]> {
  const { sql: transaction, property } = context;
  const busiest = await transaction<{ channel: Campaign["channel"]; at: string; messages: number }[]>`
    select distinct on (channel) channel, to_json(sent_at) #>> '{}' as at, count(*)::int as messages
    from campaign_sends
    where property_id = ${property.id} and enrollment_id is not null and status = 'sent' and provider = 'simulation'
    group by channel, sent_at order by channel, count(*) desc, sent_at`;
  const found: SimulatedOutcome["peaks"] = [];
  for (const { channel, at, messages } of busiest) {
    const { providers } = await ownProviders(context, sendingChannel({ channel }), null);
    const perSecond = providers[0]?.rate_per_second ?? null;
    found.push({
      channel,
      at,
      messages,
      a_minute: Math.ceil(messages / PEAK_MINUTES),
      provider_a_minute: perSecond === null ? null : perSecond * 60,
    });
  }
  return found;
}

/** Campaigns that are scheduled for a day on which the same players get a message of the journey by the same channel. */
export async function collisions(context: Tenant): Promise<SimulatedOutcome["collisions"]> {
  const { sql: transaction, property } = context;
  const scheduled = await transaction<(Campaign & { at: string })[]>`
    select c.*, to_json(c.scheduled_at) #>> '{}' as at from public.campaigns c
    where c.property_id = ${property.id} and c.status = 'scheduled' and c.deleted_at is null
      and c.scheduled_at is not null
    order by c.scheduled_at, c.id limit ${MOST_CAMPAIGNS}`;
  const found: SimulatedOutcome["collisions"] = [];
  for (const campaign of scheduled) {
    const audience = await audienceSql(context, campaign);
    const own = sql`${property.id}::uuid`;
    const [met] = await transaction<[{ people: number }]>`
      select count(distinct p.id)::int as people
      from campaign_sends s join players p on p.property_id = ${own} and p.id = s.player_id
      where s.property_id = ${own} and s.provider = 'simulation' and s.status = 'sent'
        and s.channel = ${campaign.channel} and ${audience}
        and (s.sent_at at time zone ${property.timezone}::text)::date
          = (${campaign.at}::timestamptz at time zone ${property.timezone}::text)::date`;
    if (met.people > 0)
      found.push({ campaign_id: campaign.id, name: campaign.name, at: campaign.at, people: met.people });
  }
  return found;
}
