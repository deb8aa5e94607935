import { type Fragment, literals, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { endEnrollments } from "#tools/enrollments/end.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";

/** The statuses of a message that has reached its player, or may have. */
const LEFT = ["sending", "unknown", "sent", "delivered"] as const;

/**
 * Cancels the kept player's waiting messages that have gone to the duplicate: of a campaign, or of a node of a journey in
 * which both are. Called before one of the two entries ends. Answers their number.
 */
export async function cancelSecondMessages(
  { sql: transaction, property }: Context,
  keptId: string,
  duplicateId: string,
): Promise<number> {
  const own = sql`${property.id}::uuid`;
  const areInside = sql`exists (
    select from journey_enrollments k
      join journey_enrollments d on d.property_id = ${own} and d.journey_id = k.journey_id and d.entry_key = k.entry_key
    where k.property_id = ${own} and k.id = s.enrollment_id and d.id = o.enrollment_id and d.status = 'active')`;
  const { count } = await transaction`${sql`
    update campaign_sends s
    set status = case when s.repeats then 'unknown' else 'cancelled' end, skip_reasons = '{duplicate_address}',
      updated_at = now()
    where s.property_id = ${own} and s.player_id = ${keptId}::uuid and s.status in (${literals(WAITING_SENDS)})
      and exists (
        select from campaign_sends o
        where o.property_id = ${own} and o.player_id = ${duplicateId}::uuid and o.status in (${literals(LEFT)})
          and (s.journey_id is null and o.campaign_id = s.campaign_id
            or o.journey_id = s.journey_id and o.node_id = s.node_id and ${areInside}))`}`;
  return count;
}

/**
 * Ends entries that the journey would not have let in, had the two records been one. A person is in a journey once at a
 * time, so the later entry ends. The past of the other record counts by the re-entry rule, as the player's own does.
 * Answers the number of those that end.
 */
export function endSecondEntries(context: Context, keptId: string, duplicateId: string): Promise<number> {
  const own = sql`${context.property.id}::uuid`;
  const both = sql`(${keptId}::uuid, ${duplicateId}::uuid)`;
  const ofOther = (state: Fragment) => sql`
    from journey_enrollments o
    where o.property_id = ${own} and o.player_id in ${both} and o.player_id <> d.player_id
      and o.journey_id = d.journey_id and o.entry_key = d.entry_key and ${state}`;
  const isLater = sql`exists (select ${ofOther(sql`o.status = 'active' and (o.entered_at, o.id) < (d.entered_at, d.id)`)})`;
  const isKeptOut = sql`exists (
    select from journey_versions v
      cross join lateral (
        select count(*) as entries, max(o.ended_at) as ended_at ${ofOther(sql`o.status <> 'active'`)}) past
    where v.property_id = ${own} and v.journey_id = d.journey_id and v.version = d.version and past.entries > 0
      and (v.reentry ->> 'mode' = 'never' or past.entries + d.entry > (v.reentry ->> 'max_entries')::int
        or past.ended_at > d.entered_at - case when v.reentry ->> 'mode' = 'after_exit'
          then make_interval(hours => (v.reentry ->> 'cooldown_hours')::int) else interval '0' end))`;
  return endEnrollments(context, sql`d.player_id in ${both} and (${isLater} or ${isKeptOut})`, "manual");
}
