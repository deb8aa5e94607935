import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { checkStatus, findGame, GameView } from "../game/game.ts";
import games from "../games.table.ts";

export default tool({
  name: "resume_game",
  title: "Resume a game",
  description: "Lets players into a paused game again, with the odds and rules of its activation.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  input: { gameId: z.uuid().describe("From list_games"), propertyId: z.uuid() },
  output: z.object({ success: z.literal(true), game: GameView }),
  faults: ["not_found", "conflict"],
  async handler(context, { gameId }) {
    const paused = await findGame(context, gameId, { lock: "change" });
    checkStatus(paused, ["paused"], "be resumed");
    context.ask?.({
      sentences: () => [`The game ${JSON.stringify(paused.name)} takes plays again, as it was activated.`],
    });
    const game = await update(context, games, gameId, { status: "active", status_reason: null });
    context.audit({ entity: "games", entityId: gameId });
    return { success: true as const, game };
  },
});
