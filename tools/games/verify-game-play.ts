import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { findPlay } from "./claims/play.ts";
import { findGame } from "./game/game.ts";
import { Verified, verifyPlay } from "./verification/verify-play.ts";

export default tool({
  name: "verify_game_play",
  title: "Verify a play",
  description:
    "Computes the draw of a play again from its seeds, and compares it with the stored one. A player can do the same without the service; the guide Games says how.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { playId: z.uuid().describe("From list_game_plays"), propertyId: z.uuid() },
  output: Verified,
  faults: ["not_found", "conflict"],
  async handler(context, { playId }) {
    const play = await findPlay(context, playId);
    return verifyPlay(context, await findGame(context, play.game_id), play);
  },
});
