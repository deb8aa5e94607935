import { z } from "zod";
import { type Fault, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { commitmentOf, openMaster, playSeed } from "#tools/games/draw/seeds.ts";
import type { Game } from "#tools/games/game/game.ts";
import { checkEligible, type Entrant } from "./entrant.ts";
import { checkActive, sealedMaster } from "./game-now.ts";
import { playsLeft, type Standing, standingOf, wayIn } from "./standing.ts";

const REFUSALS = ["not_eligible", "play_limit_reached", "game_not_active"] as const;

/** Whether a player may play a game now. */
export const PlayCheck = z.object({
  allowed: z.boolean(),
  code: z.enum(REFUSALS).nullable(),
  reason: z.string().nullable(),
  plays_remaining: z.int().nullable().describe("Null where nothing limits the plays"),
  tickets: z.int(),
  nonce: z.int().describe("The number of the next play"),
  next_seed_hash: z.string().nullable().describe("SHA-256 of its seed; null before the activation"),
});
export type PlayCheck = z.output<typeof PlayCheck>;

/** Judges the next play of a player, and writes nothing. */
export async function checkPlay(context: Context, game: Game, player: Entrant): Promise<PlayCheck> {
  const standing = await standingOf(context, game, player.id);
  const refusal = await refusalOf(async () => {
    await checkEligible(context, game, player);
    checkActive(game, standing.moment);
    wayIn(game, standing);
  });
  return {
    allowed: refusal === null,
    code: (refusal?.code as PlayCheck["code"]) ?? null,
    reason: refusal?.message ?? null,
    plays_remaining: playsLeft(game, standing),
    tickets: standing.tickets,
    nonce: standing.nonce + 1,
    next_seed_hash: await commitment(context, game, player.id, standing),
  };
}

async function refusalOf(check: () => Promise<void>): Promise<Fault | null> {
  try {
    await check();
    return null;
  } catch (error) {
    const fault = toFault(error);
    if (REFUSALS.some((code) => code === fault.code)) return fault;
    throw error;
  }
}

async function commitment(context: Context, { id }: Game, playerId: string, { nonce }: Standing) {
  const sealed = await sealedMaster(context, id);
  if (sealed === null) return null;
  const master = openMaster(context.config, context.property.id, id, sealed);
  return commitmentOf(playSeed(master, { gameId: id, playerId, n: nonce + 1 }));
}
