import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Goal } from "#tools/campaigns/campaign/columns.ts";

/** Marks the recipients that have reached the campaign's goal since the last run. The first event in the window counts. */
export async function markConversions(
  { sql, property }: Tenant,
  campaignId: string,
  { event, window_hours }: Goal,
): Promise<void> {
  const [start] = await sql<{ started_at: string | null }[]>`
    select started_at from campaigns where property_id = ${property.id} and id = ${campaignId}`;
  if (!start?.started_at) return;
  const converted = await sql<{ id: string }[]>`
    with first as materialized (
      select s.id, min(e.occurred_at) as at
      from player_events e
      join campaign_sends s on s.property_id = ${property.id} and s.player_id = e.player_id
        and s.campaign_id = ${campaignId} and s.converted_at is null and s.status in ('sent', 'delivered')
        and e.occurred_at >= s.sent_at and e.occurred_at < s.sent_at + make_interval(hours => ${window_hours})
      where e.property_id = ${property.id} and e.name = ${event} and e.occurred_at >= ${start.started_at}
      group by s.id
    )
    update campaign_sends s set converted_at = f.at, updated_at = now()
    from first f
    where s.property_id = ${property.id} and s.id = f.id
    returning s.id`;
  if (converted.length === 0) return;
  await emitMany(
    sql,
    property.id,
    "campaign.converted",
    sql`
      select jsonb_build_object('id', s.id, 'campaign_id', s.campaign_id, 'player_id', s.player_id,
        'channel', s.channel, 'event', ${event}::text, 'at', s.converted_at) as object
      from json_to_recordset(${converted}::json) as c(id uuid)
      join campaign_sends s on s.property_id = ${property.id} and s.id = c.id`,
  );
}

/** A casino's system reports a redeemed offer by this event, with the campaign's id in `campaign_id`. */
const OFFER_REDEEMED = "offer_redeemed";

/**
 * Marks the recipients that have redeemed an offer since the last run: a prize of the game of the campaign's ticket, or
 * an event of the casino's own.
 */
export async function markRedemptions({ sql, property }: Tenant, campaignId: string): Promise<void> {
  await sql`
    with redeemed as materialized (
      select player_id, redeemed_at as at from game_plays
      where property_id = ${property.id} and campaign_id = ${campaignId} and redeemed_at is not null
        and player_id is not null
      union all
      select player_id, occurred_at from player_events
      where property_id = ${property.id} and name = ${OFFER_REDEEMED}
        and properties ->> 'campaign_id' = ${campaignId}::text
    ), first as materialized (
      select s.id, min(r.at) as at
      from redeemed r
      join campaign_sends s on s.property_id = ${property.id} and s.player_id = r.player_id
        and s.campaign_id = ${campaignId} and s.redeemed_at is null and s.status in ('sent', 'delivered')
        and r.at >= s.sent_at
      group by s.id
    )
    update campaign_sends s set redeemed_at = f.at, updated_at = now()
    from first f
    where s.property_id = ${property.id} and s.id = f.id`;
}
