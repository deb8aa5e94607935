import { z } from "zod";
import { createOnly, readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

export const ENROLLMENT_STATUSES = ["active", "completed", "exited", "failed"] as const;

const EntryKey = z
  .string()
  .trim()
  .max(200)
  .default("")
  .describe("Tells apart what may run at once for one player, such as a booking. Default: one at a time");

const HISTORY = `(select coalesce(jsonb_agg(jsonb_build_object('node_id', n, 'at', at) order by i), '[]')
  from unnest(path, path_at) with ordinality t(n, at, i))`;

export default table({
  name: "journey_enrollments",
  noun: "journey_enrollment",
  description:
    "An enrollment is one entry of a player into a journey: where the player is, since when, until when, and the path so far. POST enrolls, DELETE takes the player out.",
  verbs: ["list", "get", "create", "delete"],
  own: ["create", "delete"],
  columns: {
    journey_id: createOnly(z.uuid().describe("From list_journeys"), { concise: true }),
    version: readable(z.int(), { concise: true }),
    player_id: createOnly(z.uuid().nullable().describe("From list_players"), { concise: true }),
    entry_key: createOnly(EntryKey),
    entry: readable(z.int().describe("The number of the player's entry")),
    status: readable(z.enum(ENROLLMENT_STATUSES), { concise: true }),
    current_node_id: readable(z.string().describe("Where the player is, or was last"), {
      sql: "node",
      concise: true,
      vocabulary: true,
    }),
    visit: readable(z.int()),
    phase: readable(
      z
        .enum(["ready", "waiting", "in_line", "sending"])
        .describe(
          "ready: the node acts next. waiting: until wake_at. in_line: until the rate limit lets the player through. sending: until the message has an outcome",
        ),
      { concise: true },
    ),
    send_id: readable(z.uuid().nullable().describe("The message under way, in campaign_sends")),
    entered_at: readable(timestamp(), { concise: true }),
    arrived_at: readable(timestamp()),
    wake_at: readable(timestamp().nullable(), { concise: true }),
    ended_at: readable(timestamp().nullable(), { concise: true }),
    exit_reason: readable(z.string().nullable(), { concise: true, vocabulary: true }),
    goal_reached_at: readable(timestamp().nullable()),
    context: readable(
      z.record(z.string(), z.unknown()).describe("The event or call that opened the journey"),
    ),
    history: readable(
      z
        .array(z.object({ node_id: z.string(), at: timestamp() }))
        .describe("The nodes so far, and when the player reached each of them"),
      { sql: HISTORY },
    ),
  },
});
