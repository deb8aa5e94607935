import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { findGame } from "./game/game.ts";
import { checkPlay, PlayCheck } from "./play/check.ts";
import { findEntrant } from "./play/entrant.ts";

export default tool({
  name: "check_game_play",
  title: "Check whether a player may play",
  description:
    "Says whether a player may play a game now, how many plays are left, and the commitment to the seed of the next play.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    gameId: z.uuid().describe("From list_games"),
    playerId: z.uuid().describe("From list_players"),
    propertyId: z.uuid(),
  },
  output: PlayCheck,
  faults: ["not_found"],
  async handler(context, { gameId, playerId }) {
    const game = await findGame(context, gameId);
    return checkPlay(context, game, await findEntrant(context, playerId));
  },
});
