import { type Fragment, sql } from "#db/sql.ts";
import { transactionStart } from "#db/transaction-start.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { EventName } from "#runtime/operation/events.ts";

/**
 * Emits an event for each of a campaign's sends, if an endpoint subscribes to it. `condition` chooses among
 * `campaign_sends s` of the property. Test sends have no campaign and emit no events.
 */
export async function emitSendEvents(
  { sql: transaction, property }: Tenant,
  event: EventName,
  condition: Fragment,
): Promise<void> {
  const reasons =
    event === "campaign.message_skipped" ? sql`, 'skip_reasons', to_jsonb(s.skip_reasons)` : sql``;
  await emitMany(
    transaction,
    property.id,
    event,
    sql`
      select jsonb_build_object('id', s.id, 'campaign_id', s.campaign_id, 'player_id', s.player_id,
        'channel', s.channel, 'status', s.status, 'error_code', s.error_code${reasons}) as object
      from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id is not null and ${condition}`,
  );
}

/** The sends of these ids, as a condition on `campaign_sends s`. */
export function withIds(ids: readonly string[]): Fragment {
  const rows = ids.map((id) => ({ id }));
  return sql`s.id in (select id from json_to_recordset(${rows}::json) as i(id uuid))`;
}

/** Emits the events of the skipped sends that this transaction has planned. */
export async function emitPlannedSkips(context: Tenant, campaignId: string): Promise<void> {
  const start = sql`${await transactionStart(context.sql)}::timestamptz`;
  // Ids begin with their time, so the index need not read earlier plans.
  const first = sql`(lpad(to_hex(floor(extract(epoch from ${start}) * 1000)::bigint - 1), 12, '0') || repeat('0', 20))::uuid`;
  const planned = sql`s.campaign_id = ${campaignId} and s.id > ${first} and s.created_at = ${start}`;
  await emitSendEvents(context, "campaign.message_skipped", sql`${planned} and s.status = 'skipped'`);
}
