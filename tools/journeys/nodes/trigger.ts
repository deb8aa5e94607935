import { z } from "zod";
import { sql } from "#db/sql.ts";
import { EventFilter, EventName, filterProblems } from "./event-filter.ts";
import { Clock } from "./local-time.ts";
import { NEXT, type NodeKind } from "./node.ts";

const segment = (meaning: string) => z.uuid().describe(`${meaning}, from list_segments`);

/** The ways into a journey. */
export const TriggerConfig = z.discriminatedUnion("on", [
  z.strictObject({
    on: z.literal("event"),
    event: EventName.describe('The name of a player event, such as "deposit"'),
    properties: EventFilter.describe("Conditions on the event's properties, all of which must hold"),
    entry_key: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("A property of the event, such as booking_id: a player may be inside once for each value"),
  }),
  z.strictObject({
    on: z.literal("segment_enter"),
    segment_id: segment("Players enter when they come into it"),
  }),
  z.strictObject({ on: z.literal("segment_exit"), segment_id: segment("Players enter when they leave it") }),
  z.strictObject({
    on: z.literal("schedule"),
    cron: z.string().min(9).max(100).describe('By the property\'s clock, such as "0 10 * * MON"'),
    segment_id: segment("Its players enter at each time"),
  }),
  z.strictObject({
    on: z.literal("date_field"),
    field: z
      .string()
      .max(100)
      .describe(
        "birth_date, or a custom field of type date such as custom.member_since. It returns each year",
      ),
    offset_days: z.int().min(-180).max(180).default(0).describe("Days after the date; negative: before it"),
    time: Clock.default("09:00").describe("By the property's clock"),
    segment_id: segment("Only its players").optional(),
  }),
  z.strictObject({ on: z.literal("api") }),
  z.strictObject({
    on: z.literal("game_play"),
    game_id: z.uuid().optional().describe("From list_games. Default: any game"),
    outcome: z.enum(["win", "lose"]).optional().describe("Default: either"),
  }),
  z.strictObject({
    on: z.literal("inbound_sms"),
    contains: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .optional()
      .describe("A text that the message contains. Default: any"),
  }),
]);
export type TriggerConfig = z.output<typeof TriggerConfig>;

/** A way in. People stand here for a moment, until the first step. */
export const trigger: NodeKind<TriggerConfig> = {
  type: "trigger",
  meaning:
    "A way in: an event, a segment that is entered or left, a schedule, a yearly date, enroll_players (api), a play of a game, or a text from the player. A journey has at least one.",
  config: TriggerConfig,
  labels: () => [NEXT],
  conditions: (config) => [
    ...("segment_id" in config && config.segment_id
      ? [{ conditions: [{ field: `segment.${config.segment_id}`, operator: "in_segment" as const }] }]
      : []),
    ...(config.on === "date_field"
      ? [{ conditions: [{ field: config.field, operator: "is_set" as const }] }]
      : []),
  ],
  problems(config) {
    return config.on === "event" ? filterProblems(config.properties, "properties") : [];
  },
  next: () => sql`${NEXT}::text`,
};
