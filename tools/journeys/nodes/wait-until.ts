import { z } from "zod";
import { type Fragment, sql } from "#db/sql.ts";
import { Condition, Group } from "#tools/segments/rules/compile.ts";
import { audienceBy } from "#tools/segments/rules/references.ts";
import { Duration, intervalOf, tooLong } from "./duration.ts";
import { EventFilter, EventName, filterPath, filterProblems } from "./event-filter.ts";
import type { Moment, NodeKind } from "./node.ts";

/** Rule rows as segments have them. */
export const Rules = {
  logic: z.enum(["and", "or"]).default("and").describe("How the conditions join"),
  conditions: z.array(Condition).max(200).default([]).describe("Rule rows, as in segments"),
  groups: z.array(Group).max(50).optional().describe("Nested rule groups"),
};

export const WaitConfig = z.strictObject({
  event: z
    .strictObject({
      name: EventName.describe('Such as "visit"'),
      properties: EventFilter.describe("Conditions on the event's properties, all of which must hold"),
    })
    .optional()
    .describe("Holds when the player does this after coming here"),
  ...Rules,
  timeout: Duration.describe("After this the player takes the edge timed_out; at most 365 days"),
});
export type WaitConfig = z.output<typeof WaitConfig>;

export const YES = "yes";
export const TIMED_OUT = "timed_out";

export const waitUntil: NodeKind<WaitConfig> = {
  type: "wait_until",
  meaning:
    "Waits until the player does something (event) or fits conditions, at most until the timeout. Edges: yes and timed_out. An event ends the wait at once; conditions are looked at once a minute. To find those who have not opened or clicked a message in time, wait for message.<node>.opened or message.<node>.clicked and take the edge timed_out.",
  config: WaitConfig,
  labels: () => [YES, TIMED_OUT],
  waits: () => false,
  conditions: (config) => (hasConditions(config) ? [config] : []),
  problems(config) {
    const long = tooLong(config.timeout);
    const both = (config.event !== undefined) === hasConditions(config);
    return [
      ...(both ? [{ field: "event", message: "or conditions: give one of them to wait for" }] : []),
      ...(long ? [{ field: "timeout", message: long }] : []),
      ...(config.event ? filterProblems(config.event.properties, "event.properties") : []),
    ];
  },
  arrival: ({ config }, { now }) => ({
    phase: "waiting",
    wakeAt: sql`${now} + ${intervalOf(config.timeout)}`,
  }),
  next: ({ config }, moment) => sql`case when ${holds(config, moment)} then ${YES} else ${TIMED_OUT} end`,
};

/** Whether the person's wait is over before its deadline, as SQL over the enrollment `d` and the player `p`. */
export function holds(config: WaitConfig, moment: Moment): Fragment {
  const { event } = config;
  if (!event)
    return sql`(d.wake_at > ${moment.now} and ${audienceBy(moment.property.id, config, moment.referred, moment.at)})`;
  const path = filterPath(event.properties);
  return sql`exists (
    select from player_events v
    where v.property_id = ${moment.property.id}::uuid and v.player_id = d.player_id and v.name = ${event.name}::text
      and v.occurred_at >= d.arrived_at and v.occurred_at < d.wake_at and v.occurred_at <= ${moment.now}
      ${path === null ? sql`` : sql`and v.properties @@ ${path}::jsonpath`})`;
}

function hasConditions({ conditions, groups }: WaitConfig): boolean {
  return conditions.length > 0 || (groups?.length ?? 0) > 0;
}
