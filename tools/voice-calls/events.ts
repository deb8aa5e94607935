import { sql } from "#db/sql.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** Emits an event about each of these calls, if an endpoint subscribes to it. The spoken words stay in the call. */
export async function emitCallEvents(
  { sql: transaction, property }: Tenant,
  event: "campaign.call_answered" | "campaign.call_completed" | "campaign.call_unknown",
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const rows = ids.map((id) => ({ id }));
  await emitMany(
    transaction,
    property.id,
    event,
    sql`
      select jsonb_build_object('id', c.id, 'send_id', c.send_id, 'campaign_id', c.campaign_id,
        'player_id', c.player_id, 'provider', c.provider, 'simulated', c.simulated, 'status', c.status,
        'outcome', c.outcome, 'answered_by', c.answered_by, 'seconds', c.seconds, 'cost', c.cost,
        'cost_currency', c.cost_currency) as object
      from json_to_recordset(${rows}::json) as i(id uuid)
        join voice_calls c on c.property_id = ${property.id} and c.id = i.id
      where c.campaign_id is not null`,
  );
}
