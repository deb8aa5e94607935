import type { Sql } from "#db/client.ts";
import type { Channel } from "./channels.ts";
import type { BlockReason } from "./gate.ts";

/**
 * Cancels what these players would still be sent on the channels. Answers how many sends there were. Of what was to
 * be repeated nobody can tell: the vendor may have it already.
 */
export async function cancelOpenSends(
  sql: Sql,
  property: { id: string },
  playerIds: string[],
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<number> {
  if (playerIds.length === 0) return 0;
  const rows = await sql`
    update campaign_sends set status = case when repeats then 'unknown' else 'cancelled' end, skip_reasons = array[${reason}::text], updated_at = now()
    where property_id = ${property.id} and player_id = any(${playerIds}::uuid[])
      and channel = any(${[...channels]}::text[]) and status in ('pending', 'deferred')`;
  return rows.count;
}
