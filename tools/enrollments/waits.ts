import type { Context } from "#runtime/operation/context.ts";
import { stepSoon } from "./jobs.ts";

/**
 * Ends the waits of those who have waited for one of these stored events: they go on at the next step. `waits`: ids of
 * journey_triggers. People in the middle of a step are left to the next look at their node, within a minute.
 * Answers how many go on.
 */
export async function endWaits(
  context: Context,
  waits: readonly string[],
  events: readonly string[],
): Promise<number> {
  const { sql, property } = context;
  const journeys = await sql<{ id: string; woken: number }[]>`
    with waiting as materialized (
      select d.id from journey_triggers t
        join player_events e on e.property_id = ${property.id} and e.name = t.name and e.id = any(${events}::uuid[])
        join journey_enrollments d on d.property_id = ${property.id} and d.journey_id = t.journey_id
          and d.player_id = e.player_id and d.status = 'active' and d.version = t.version and d.node = t.node
          and d.phase = 'waiting'
      where t.property_id = ${property.id} and t.id = any(${waits}::uuid[])
        and e.occurred_at >= d.arrived_at and e.occurred_at < d.wake_at and e.occurred_at <= now()
        and (t.filter is null or e.properties @@ t.filter::jsonpath)
      order by d.id for no key update of d skip locked
    ), woken as (
      update journey_enrollments d set phase = 'ready', wake_at = now(), updated_at = now()
      from waiting w where d.property_id = ${property.id} and d.id = w.id
      returning d.journey_id
    )
    select journey_id as id, count(*)::int as woken from woken group by journey_id`;
  for (const { id } of journeys) stepSoon(context, id);
  return journeys.reduce((total, { woken }) => total + woken, 0);
}
