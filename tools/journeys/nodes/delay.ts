import { z } from "zod";
import { type Fragment, sql } from "#db/sql.ts";
import { dateField } from "#tools/segments/rules/references.ts";
import { Duration, intervalOf, tooLong } from "./duration.ts";
import { Clock, nextLocal, Weekdays, zoneOf } from "./local-time.ts";
import { type Moment, NEXT, type NodeKind, type PlacedNode } from "./node.ts";

export const DelayConfig = z.discriminatedUnion("by", [
  z.strictObject({ by: z.literal("duration"), duration: Duration }),
  z.strictObject({
    by: z.literal("until_local_time"),
    time: Clock.describe("The next time that the player's own clock shows this"),
    weekdays: Weekdays,
  }),
  z.strictObject({
    by: z.literal("until_field"),
    field: z.string().max(100).describe("A date or time of the player, such as custom.stay_from"),
    offset_days: z.int().min(-365).max(365).default(0).describe("Days after the date; negative: before it"),
    time: Clock.default("09:00").describe("By the player's own clock"),
    if_missing: z
      .enum(["exit", "skip"])
      .default("exit")
      .describe("For a player without the date: leave the journey, or go on at once"),
  }),
]);
export type DelayConfig = z.output<typeof DelayConfig>;
type DateDelay = Extract<DelayConfig, { by: "until_field" }>;

/** The reason for the exit of a player without the date. */
const MISSING_DATE = "missing_date";

export const delay: NodeKind<DelayConfig> = {
  type: "delay",
  meaning:
    "Waits for a span of time, for an hour of the player's clock, or for a date of the player. A date that has passed delays nobody; a missing one means at once only if if_missing is skip.",
  config: DelayConfig,
  labels: () => [NEXT],
  waits: ({ by }) => by !== "until_field",
  conditions: (config) =>
    config.by === "until_field"
      ? [{ logic: "and", conditions: [{ field: config.field, operator: "is_set" }] }]
      : [],
  problems(config) {
    const long = config.by === "duration" ? tooLong(config.duration) : null;
    return long ? [{ field: "duration", message: long }] : [];
  },
  arrival: (node, moment) => ({ phase: "waiting", wakeAt: wakeAt(node, moment) }),
  next({ config }, moment) {
    if (config.by !== "until_field" || config.if_missing === "skip") return sql`${NEXT}::text`;
    // A date that was deleted during the wait leaves the time that was set at the arrival.
    const missing = sql`${localDate(config, moment)} is null and d.wake_at = d.arrived_at`;
    return sql`case when ${missing} then ${`!${MISSING_DATE}`} else ${NEXT} end`;
  },
};

function wakeAt({ config }: PlacedNode<DelayConfig>, moment: Moment): Fragment {
  if (config.by === "duration") return sql`${moment.now} + ${intervalOf(config.duration)}`;
  if (config.by === "until_local_time") return nextLocal(moment, config.time, config.weekdays);
  const date = sql`(${localDate(config, moment)} + ${config.offset_days}::int + ${config.time}::time)
    at time zone ${zoneOf(moment)}`;
  return sql`greatest(${date}, ${moment.now})`;
}

/** The player's date; null for one that is missing or infinite. */
function localDate({ field }: DateDelay, moment: Moment): Fragment {
  const { sql: value, type } = dateField(field, moment.property.id, moment.referred, moment.at);
  const date = type === "date" ? value : sql`(${value} at time zone ${zoneOf(moment)})::date`;
  return sql`(case when isfinite(${date}) then ${date} end)`;
}
