import { z } from "zod";
import { type Fault, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { commitmentOf, openMaster, playSeed } from "./draw/seeds.ts";
import { findGame, type Game } from "./game/game.ts";
import { checkEligible, findEntrant } from "./play/entrant.ts";
import { checkActive, sealedMaster } from "./play/game-now.ts";
import { playsLeft, type Standing, standingOf, wayIn } from "./play/standing.ts";

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
  output: z.object({
    allowed: z.boolean(),
    code: z.enum(["not_eligible", "play_limit_reached", "game_not_active"]).nullable(),
    reason: z.string().nullable(),
    plays_remaining: z.int().nullable().describe("Null where nothing limits the plays"),
    tickets: z.int(),
    nonce: z.int().describe("The number of the next play"),
    next_seed_hash: z.string().nullable().describe("SHA-256 of its seed; null before the activation"),
  }),
  faults: ["not_found"],
  async handler(context, { gameId, playerId }) {
    const game = await findGame(context, gameId);
    const player = await findEntrant(context, playerId);
    const standing = await standingOf(context, gameId, playerId);
    const refusal = await refusalOf(async () => {
      await checkEligible(context, game, player);
      checkActive(game, standing.moment);
      wayIn(game, standing);
    });
    const { code, message } = refusal ?? { code: null, message: null };
    return {
      allowed: refusal === null,
      code: code as "not_eligible" | null,
      reason: message,
      plays_remaining: playsLeft(game, standing),
      tickets: standing.tickets,
      nonce: standing.nonce + 1,
      next_seed_hash: await commitment(context, game, playerId, standing),
    };
  },
});

async function refusalOf(check: () => Promise<void>): Promise<Fault | null> {
  try {
    await check();
    return null;
  } catch (error) {
    const fault = toFault(error);
    if (["not_eligible", "play_limit_reached", "game_not_active"].includes(fault.code)) return fault;
    throw error;
  }
}

async function commitment(context: Context, { id }: Game, playerId: string, { nonce }: Standing) {
  const sealed = await sealedMaster(context, id);
  if (sealed === null) return null;
  const master = openMaster(context.config, context.property.id, id, sealed);
  return commitmentOf(playSeed(master, { gameId: id, playerId, n: nonce + 1 }));
}
