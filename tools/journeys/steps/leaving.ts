import { type Fragment, sql } from "#db/sql.ts";
import { filterPath } from "#tools/journeys/nodes/event-filter.ts";
import type { Moment } from "#tools/journeys/nodes/node.ts";
import { audienceBy } from "#tools/segments/rules/references.ts";
import { BARRED_STATUSES } from "#tools/statuses/players.ts";
import type { Version } from "./version.ts";

/** Whether a version takes people out whom the gate would let through. */
export function endsEarly({ goal, exitConditions, endsAt }: Version): boolean {
  return goal?.exit_on_goal === true || exitConditions !== null || endsAt !== null;
}

/**
 * The reasons for which a person leaves before the node acts, as the first cases of a `case` over the enrollment `d` and
 * the player `p`; and whether the person has reached the goal.
 */
export function leavingCases(moment: Moment, version: Version): { cases: Fragment; reached: Fragment } {
  const { now, property, referred, at } = moment;
  const { goal, exitConditions, endsAt } = version;
  const reached = goal ? sql`coalesce(${goalHolds(moment, goal)}, false)` : sql`false`;
  const leavesByGoal = goal?.exit_on_goal ? sql`when ${reached} then '!goal_reached'` : sql``;
  const leavesByRule = exitConditions
    ? sql`when ${audienceBy(property.id, exitConditions, referred, at)} then '!exit_condition'`
    : sql``;
  const ends = endsAt === null ? sql`` : sql`when ${endsAt}::timestamptz <= ${now} then '!journey_ended'`;
  const cases = sql`when p.id is null then '!erased' when p.deleted_at is not null then '!deleted'
    when p.status = any(${BARRED_STATUSES}::text[]) then '!' || p.status ${leavesByGoal} ${leavesByRule} ${ends}`;
  return { cases, reached };
}

function goalHolds({ property, now, referred, at }: Moment, goal: NonNullable<Version["goal"]>): Fragment {
  const { event, window_hours: window } = goal;
  const until = window === undefined ? sql`` : sql`d.entered_at + make_interval(hours => ${window}::int)`;
  if (!event) {
    const inTime = window === undefined ? sql`true` : sql`${now} < ${until}`;
    return sql`(${inTime} and ${audienceBy(property.id, goal, referred, at)})`;
  }
  const path = filterPath(event.properties);
  return sql`exists (
    select from player_events v
    where v.property_id = ${property.id}::uuid and v.player_id = d.player_id and v.name = ${event.name}::text
      and v.occurred_at > d.entered_at and v.occurred_at <= ${now}
      ${window === undefined ? sql`` : sql`and v.occurred_at < ${until}`}
      ${path === null ? sql`` : sql`and v.properties @@ ${path}::jsonpath`})`;
}
