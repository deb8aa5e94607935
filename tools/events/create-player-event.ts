import { z } from "zod";
import { inputOf, viewOf } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { recordEvents } from "./player-event.ts";
import playerEvents from "./player-events.table.ts";

const { occurred_at, ...columns } = inputOf(playerEvents, "create");

export default tool({
  name: "create_player_event",
  title: "Record a player event",
  description:
    "Adds an event of a player. An event with a known external_id is not added again: the answer is the first one, so reports can be repeated safely, and other contents are refused. Over MCP an event that moves the player in a published journey is asked about first. REST also accepts an array of 1 to 1000 events, all or none.",
  scope: "write",
  effect: "create",
  asks: true,
  movesPlayers: true,
  input: {
    ...columns,
    player_id: z
      .union([z.uuid(), z.string().trim().min(1).max(200)])
      .describe("The player's id from list_players, or the operator's own player_id"),
    occurred_at: occurred_at.optional().describe("When it happened. Default: now"),
  },
  output: viewOf(playerEvents),
  status: 201,
  faults: ["invalid", "not_found", "conflict"],
  crud: { table: playerEvents, verb: "create" },
  handler: async (context, input) => (await recordEvents(context, [input]))[0]!,
  many: (context, inputs) => recordEvents(context, inputs),
});
