import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { checkStatus, findGame, GameView } from "../game/game.ts";
import games from "../games.table.ts";

export default tool({
  name: "pause_game",
  title: "Pause a game",
  description: "Stops the plays of a game. Prizes that were won can still be claimed and redeemed.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    gameId: z.uuid().describe("From list_games"),
    propertyId: z.uuid(),
    reason: z.string().trim().min(1).max(500).optional().describe("Kept as its status_reason"),
  },
  output: z.object({ success: z.literal(true), game: GameView }),
  faults: ["not_found", "conflict"],
  async handler(context, { gameId, reason }) {
    checkStatus(await findGame(context, gameId, { lock: "change" }), ["active"], "be paused");
    const values = { status: "paused", status_reason: reason ?? null, paused_at: "now" };
    const game = await update(context, games, gameId, values);
    context.audit({ entity: "games", entityId: gameId });
    return { success: true as const, game };
  },
});
