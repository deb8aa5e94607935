import type postgres from "postgres";
import type { Context } from "#runtime/context.ts";
import type { EventName } from "#runtime/events.ts";
import { emitMany } from "#runtime/outbox.ts";

/**
 * Tells of campaigns' sends, an event each, where an endpoint has asked: `which` are the conditions on
 * `campaign_sends s` besides the property. A test's sends belong to no campaign, and are nobody's business.
 */
export async function announceSends(
  { sql, property }: Pick<Context, "sql" | "property">,
  event: EventName,
  which: postgres.Fragment,
): Promise<void> {
  const reasons =
    event === "campaign.message_skipped" ? sql`, 'skip_reasons', to_jsonb(s.skip_reasons)` : sql``;
  await emitMany(
    sql,
    property.id,
    event,
    sql`
      select jsonb_build_object('id', s.id, 'campaign_id', s.campaign_id, 'player_id', s.player_id,
        'channel', s.channel, 'status', s.status, 'error_code', s.error_code${reasons}) as object
      from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id is not null and ${which}`,
  );
}

/** The sends of these ids, as a condition on `campaign_sends s`. */
export function withIds({ sql }: Pick<Context, "sql">, ids: readonly string[]) {
  const rows = ids.map((id) => ({ id }));
  return sql`s.id in (select id from json_to_recordset(${rows as never}::json) as i(id uuid))`;
}

/** Tells of the sends that this transaction has planned and that nobody gets. */
export async function announceSkipped(
  context: Pick<Context, "sql" | "property">,
  campaignId: string,
): Promise<void> {
  const { sql } = context;
  // Their ids begin with the time at which they were made: the index need not pass over what was planned before.
  const first = sql`(lpad(to_hex(floor(extract(epoch from now()) * 1000)::bigint - 1), 12, '0') || repeat('0', 20))::uuid`;
  const made = sql`s.campaign_id = ${campaignId} and s.id > ${first} and s.created_at = now()`;
  await announceSends(context, "campaign.message_skipped", sql`${made} and s.status = 'skipped'`);
}
