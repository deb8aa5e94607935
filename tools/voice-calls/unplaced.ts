import type { Tenant } from "#runtime/operation/context.ts";
import { emitCallEvents } from "./events.ts";

/**
 * Closes the calls of sends that the vendor has certainly not taken. One that may be asked for again was no call yet, and
 * is written anew then; any other has failed.
 */
export async function closeUnplaced(context: Tenant, sendIds: readonly string[]): Promise<void> {
  if (sendIds.length === 0) return;
  const { sql, property } = context;
  await sql`
    delete from voice_calls c using campaign_sends s
    where c.property_id = ${property.id} and c.send_id = any(${[...sendIds]}::uuid[]) and c.status = 'queued'
      and s.property_id = ${property.id} and s.id = c.send_id and s.status = 'pending'`;
  const failed = await sql<{ id: string }[]>`
    with clock as materialized (select statement_timestamp() as moment)
    update voice_calls c set status = 'ended', outcome = 'failed', ended_at = clock.moment, error_code = s.error_code,
      error_message = s.error_message, updated_at = clock.moment
    from campaign_sends s, clock
    where c.property_id = ${property.id} and c.send_id = any(${[...sendIds]}::uuid[]) and c.status = 'queued'
      and s.property_id = ${property.id} and s.id = c.send_id and s.status = 'failed'
    returning c.id`;
  await emitCallEvents(
    context,
    "campaign.call_completed",
    failed.map(({ id }) => id),
  );
}
