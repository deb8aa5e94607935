import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { findGame } from "./game/game.ts";
import { PLAY_STATUSES } from "./play/columns.ts";
import { figuresOf } from "./report/figures.ts";

const Entry = z.object({ plays: z.int(), wins: z.int(), value: z.number().describe("Won, in dollars") });

export default tool({
  name: "game_report",
  title: "Report of a game",
  description:
    "Counts a game's plays, players, wins and claims, and each prize beside its odds. Each way in is counted apart, to show that the free entry has equal odds.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { gameId: z.uuid().describe("From list_games"), propertyId: z.uuid() },
  output: z.object({
    game_id: z.uuid(),
    status: z.string(),
    plays: z.int(),
    players: z.int(),
    wins: z.int(),
    value_won: z.number().describe("In dollars, without voided plays"),
    value_redeemed: z.number(),
    by_entry: z.record(z.string(), Entry).describe("By the way in: open, or the source of the ticket"),
    by_status: z.partialRecord(z.enum(PLAY_STATUSES), z.int()).describe("Of plays that won"),
    prizes: z.array(
      z.object({
        prize_id: z.uuid(),
        label: z.string(),
        odds: z.string(),
        expected: z.number().describe("Draws that this number of plays gives by the odds"),
        drawn: z.int(),
        won: z.int(),
        inventory_remaining: z.int().nullable(),
      }),
    ),
    tickets: z.object({ granted: z.int(), used: z.int() }),
  }),
  faults: ["not_found"],
  async handler(context, { gameId }) {
    const game = await findGame(context, gameId);
    return { game_id: gameId, status: game.status, ...(await figuresOf(context, game)) };
  },
});
