import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { checkStatus, findGame, GameView } from "../game/game.ts";
import games from "../games.table.ts";

export default tool({
  name: "archive_game",
  title: "Archive a game",
  description: "Puts an ended game away. Its plays, its proof and its report stay.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: { gameId: z.uuid().describe("From list_games"), propertyId: z.uuid() },
  output: z.object({ success: z.literal(true), game: GameView }),
  faults: ["not_found", "conflict"],
  async handler(context, { gameId }) {
    checkStatus(await findGame(context, gameId, { lock: "change" }), ["ended"], "be archived");
    const game = await update(context, games, gameId, { status: "archived", archived_at: "now" });
    context.audit({ entity: "games", entityId: gameId });
    return { success: true as const, game };
  },
});
