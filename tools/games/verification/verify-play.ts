import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Play } from "#tools/games/claims/play.ts";
import { ticketAt } from "#tools/games/draw/deck.ts";
import { numberBelow } from "#tools/games/draw/number.ts";
import { prizeAt } from "#tools/games/draw/odds.ts";
import { commitmentOf, playSeed } from "#tools/games/draw/seeds.ts";
import type { Game } from "#tools/games/game/game.ts";
import { masterOf } from "#tools/games/play/game-now.ts";
import { Proof, proofOf } from "#tools/games/play/proof.ts";
import { without } from "#tools/games/play/stock.ts";

/** A draw that was computed again from its seeds, compared with the stored one. */
export const Verified = z.object({
  valid: z.boolean(),
  checks: z.object({
    master_seed: z.boolean().describe("Its SHA-256 is the one that was published at activation"),
    play_seed: z.boolean().describe("Its SHA-256 is the one that was shown before the play"),
    number: z.boolean().describe("The seeds give the stored number"),
    prize: z.boolean().describe("The number names the stored prize"),
  }),
  proof: Proof,
  odds: z.array(z.object({ prize_id: z.uuid(), weight: z.int() })).describe("In the order of the draw"),
  master_seed: z.string().nullable().describe("Once the game has ended"),
});
export type Verified = z.output<typeof Verified>;

/** Computes a play again. Throws `conflict` where its player was erased, or its game never went live. */
export async function verifyPlay(context: Context, game: Game, play: Play): Promise<Verified> {
  if (play.player_id === null) {
    throw new Fault("conflict", { message: "The player was erased, and with the player the play's seed." });
  }
  if (game.odds === null) throw new Fault("conflict", { message: "The game has not been activated." });
  const master = await masterOf(context, game.id);
  const { nonce: n, client_seed: clientSeed, roll } = play;
  const number = { gameId: game.id, playerId: play.drawn_for ?? play.player_id, n };
  const seed = playSeed(master, number);
  const odds = play.odds_snapshot ?? game.odds;
  const drawn =
    game.draw === "deck" ? { roll, prize: ticketAt(master, game.id, odds, roll) } : redrawn(game, play, seed);
  const checks = {
    master_seed: commitmentOf(master) === game.server_seed_hash,
    play_seed: commitmentOf(seed) === play.server_seed_hash,
    number: drawn.roll === roll,
    prize: drawn.prize === play.drawn_prize_id,
  };
  const proof = proofOf(
    game,
    { seed, clientSeed, number: roll, denominator: odds.denominator },
    { master, number: { ...number, n: n + 1 } },
  );
  const valid = Object.values(checks).every(Boolean);
  return { valid, checks, proof, odds: odds.prizes, master_seed: game.master_seed };
}

/** The number by the weights that the play has kept: each prize that was gone before has its own message. */
function redrawn(game: Game, { client_seed, nonce, odds_snapshot }: Play, seed: Buffer) {
  let odds = game.odds!;
  for (let tries = 0; ; tries += 1) {
    const message = tries === 0 ? `${client_seed}:${nonce}` : `${client_seed}:${nonce}:${tries}`;
    const roll = numberBelow(seed, message, odds.denominator);
    const prize = prizeAt(odds, roll);
    if (odds_snapshot === null || odds.denominator === odds_snapshot.denominator) return { roll, prize };
    const left = without(odds, prize);
    if (left === null) return { roll, prize };
    odds = left;
  }
}
