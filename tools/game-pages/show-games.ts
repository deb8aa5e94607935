import { z } from "zod";
import { noSuch } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findGame, type Game } from "#tools/games/game/game.ts";
import { checkPlay, PlayCheck } from "#tools/games/play/check.ts";
import { checkEligible, type Entrant, findEntrant } from "#tools/games/play/entrant.ts";
import { playsOf, ShownGame, ShownPlay, shownGame } from "./game-view.ts";
import { openGames } from "./open-games.ts";

const MOST_PLAYS = 20;

const Place = z.object({
  game: ShownGame,
  check: PlayCheck,
  plays: z.array(ShownPlay).describe("The last 20, the newest first"),
});
export type Place = z.output<typeof Place>;

/** The games' pages call it; their token names the property and the player. */
export default tool({
  name: "show_games",
  title: "Show a player's games",
  description:
    "Shows the active games that a player may see, or one game. Each has its prizes, the player's last plays, and whether the next play is possible. The answer leaves out weights and seeds.",
  scope: "read",
  effect: "read",
  access: "operator",
  input: {
    playerId: z.uuid().describe("From list_players"),
    gameId: z.uuid().optional().describe("Only this game, also once it has ended. From list_games"),
  },
  output: z.object({ places: z.array(Place) }),
  faults: ["not_found", "not_eligible"],
  async handler(context, { playerId, gameId }) {
    const player = await findEntrant(context, playerId);
    const games =
      gameId === undefined ? await openGames(context, player) : [await activated(context, gameId, player)];
    const places: Place[] = [];
    for (const game of games) {
      places.push({
        game: await shownGame(context, game),
        check: await checkPlay(context, game, player),
        plays: await playsOf(context, { gameId: game.id, playerId }, MOST_PLAYS),
      });
    }
    return { places };
  },
});

/** A game that the player may see. A draft is nobody's yet. */
async function activated(context: Context, gameId: string, player: Entrant): Promise<Game> {
  const game = await findGame(context, gameId);
  if (game.status === "draft") throw noSuch("game", gameId);
  await checkEligible(context, game, player);
  return game;
}
