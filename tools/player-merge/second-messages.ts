import { type Fragment, literals, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { endEnrollments } from "#tools/enrollments/end.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";

/** The statuses of a message that has reached its player, or may have. */
const LEFT = ["sending", "unknown", "sent", "delivered"] as const;

/** Cancels the kept player's waiting messages of campaigns whose message has gone to the duplicate. Answers their number. */
export async function cancelSecondMessages(
  { sql: transaction, property }: Context,
  keptId: string,
  duplicateId: string,
): Promise<number> {
  const { count } = await transaction`
    update campaign_sends s
    set status = case when s.repeats then 'unknown' else 'cancelled' end, skip_reasons = '{duplicate_address}',
      updated_at = now()
    where s.property_id = ${property.id} and s.player_id = ${keptId} and s.status in (${literals(WAITING_SENDS)})
      and s.journey_id is null and exists (
        select from campaign_sends o
        where o.property_id = ${property.id} and o.player_id = ${duplicateId} and o.campaign_id = s.campaign_id
          and o.status in (${literals(LEFT)}))`;
  return count;
}

/**
 * Ends entries that the journey would not have let in, had the two records been one: those that began inside an entry of
 * the other record, and those that the re-entry rule keeps out behind one. An entry ends too where the other one has sent
 * a message meanwhile that it has not, because it would send that again. Of two under way the one goes on that has sent
 * all messages of the other, the earlier before the later. Answers the number of those that end.
 */
export function endSecondEntries(context: Context, keptId: string, duplicateId: string): Promise<number> {
  const own = sql`${context.property.id}::uuid`;
  const both = sql`(${keptId}::uuid, ${duplicateId}::uuid)`;
  const ofOther = sql`
    from journey_enrollments o
    where o.property_id = ${own} and o.player_id in ${both} and o.player_id <> d.player_id
      and o.journey_id = d.journey_id and o.entry_key = d.entry_key`;
  const beganBefore = sql`(o.entered_at, o.id) < (d.entered_at, d.id)`;
  const sentBy = (entry: Fragment, alias: Fragment) => sql`
    from campaign_sends ${alias}
    where ${alias}.property_id = ${own} and ${alias}.player_id = ${entry}.player_id
      and ${alias}.enrollment_id = ${entry}.id and ${alias}.status in (${literals(LEFT)})`;
  // A loop sends the message of a node again.
  const lacks = (one: Fragment, other: Fragment) => sql`exists (
    select ${sentBy(other, sql`m`)} group by m.node_id
    having count(*) > (select count(*) ${sentBy(one, sql`n`)} and n.node_id = m.node_id))`;
  const [d, o] = [sql`d`, sql`o`];
  const isSecond = sql`exists (
    select ${ofOther} and (o.status = 'active' or o.ended_at > d.entered_at)
      and (${lacks(d, o)} or ${beganBefore} and (o.status <> 'active' or not ${lacks(o, d)})))`;
  const isKeptOut = sql`exists (
    select from journey_versions v
      cross join lateral (
        select count(*) as entries, max(o.ended_at) as ended_at ${ofOther} and o.status <> 'active' and ${beganBefore}) past
    where v.property_id = ${own} and v.journey_id = d.journey_id and v.version = d.version and past.entries > 0
      and (v.reentry ->> 'mode' = 'never' or past.entries + d.entry > (v.reentry ->> 'max_entries')::int
        or v.reentry ->> 'mode' = 'after_exit'
          and past.ended_at > d.entered_at - make_interval(hours => (v.reentry ->> 'cooldown_hours')::int)))`;
  return endEnrollments(context, sql`d.player_id in ${both} and (${isSecond} or ${isKeptOut})`, "manual");
}
