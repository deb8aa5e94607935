import { z } from "zod";
import { counted } from "#runtime/counted.ts";
import { Fault, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { commitmentOf, openMaster, playSeed } from "#tools/games/draw/seeds.ts";
import type { Game } from "#tools/games/game/game.ts";
import { checkEligible, type Entrant } from "./entrant.ts";
import { checkActive, sealedMaster } from "./game-now.ts";
import { playsLeft, type Standing, standingOf, wayIn } from "./standing.ts";

const REFUSALS = ["not_eligible", "play_limit_reached", "game_not_active"] as const;

/** The way to the next play of a player whose limit is reached: after some time, tomorrow, by a ticket, or none. */
const WAYS = ["wait", "tomorrow", "ticket", "none"] as const;

/** Whether a player may play a game now. */
export const PlayCheck = z.object({
  allowed: z.boolean(),
  code: z.enum(REFUSALS).nullable(),
  reason: z.string().nullable(),
  next: z
    .enum(WAYS)
    .nullable()
    .describe("With play_limit_reached: wait retry_after seconds, come tomorrow, have a ticket, or none"),
  retry_after: z.int().nullable().describe("In seconds"),
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
    await checkLeft(context, game);
  });
  return {
    allowed: refusal === null,
    code: (refusal?.code as PlayCheck["code"]) ?? null,
    reason: refusal?.message ?? null,
    next: refusal?.code === "play_limit_reached" ? nextWay(game, standing, refusal) : null,
    retry_after: refusal?.retryAfter ?? null,
    plays_remaining: playsLeft(game, standing),
    tickets: standing.tickets,
    nonce: standing.nonce + 1,
    next_seed_hash: await commitment(context, game, player.id, standing),
  };
}

function nextWay({ play_limits: limits }: Game, { plays, today }: Standing, { retryAfter }: Fault) {
  if (retryAfter !== undefined) return "wait";
  if (limits.per_player_total !== undefined && plays >= limits.per_player_total) return "none";
  if (limits.per_player_per_day !== undefined && today >= limits.per_player_per_day) return "tomorrow";
  return "ticket";
}

/** Throws `game_not_active` once all tickets of a deck are drawn, or all plays of the game are played. */
async function checkLeft({ sql, property }: Context, { id, draw, odds, play_limits }: Game): Promise<void> {
  const most = play_limits.game_total;
  if (draw !== "deck" && most === undefined) return;
  const [counts] = await sql<{ plays: number; next_ticket: number }[]>`
    select plays, next_ticket from game_counts where property_id = ${property.id} and game_id = ${id}`;
  if (!counts) return;
  if (draw === "deck" && counts.next_ticket >= odds!.denominator)
    throw new Fault("game_not_active", { message: "All tickets of the game are drawn." });
  if (most !== undefined && counts.plays >= most)
    throw new Fault("game_not_active", { message: `The game has had its ${counted(most, "play")}.` });
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
