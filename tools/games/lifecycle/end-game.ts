import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { LIVE_GAMES } from "#tools/statuses/games.ts";
import { endGame } from "../ending/end.ts";
import { checkStatus, findGame } from "../game/game.ts";

export default tool({
  name: "end_game",
  title: "End a game",
  description:
    "Ends a game for good and reveals its master seed, which get_game then shows and which proves every draw. Prizes that were won can still be claimed. It cannot be undone.",
  scope: "write",
  effect: "destroy",
  property: "propertyId",
  input: { gameId: z.uuid().describe("From list_games"), propertyId: z.uuid() },
  // Without the seed: a dry run must not show it.
  output: z.object({ success: z.literal(true), game_id: z.uuid(), server_seed_hash: z.string() }),
  faults: ["not_found", "conflict"],
  async handler(context, { gameId }) {
    const game = await findGame(context, gameId, { lock: "change" });
    checkStatus(game, LIVE_GAMES, "be ended");
    context.ask?.({
      sentences: () => [
        `The game ${JSON.stringify(game.name)} ends for good: nobody plays it any more, and its master seed is public.`,
      ],
    });
    await endGame(context, game, "Ended by hand.");
    context.audit({ entity: "games", entityId: gameId });
    return { success: true as const, game_id: gameId, server_seed_hash: game.server_seed_hash! };
  },
});
