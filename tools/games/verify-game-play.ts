import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findPlay, type Play } from "./claims/play.ts";
import { ticketAt } from "./draw/deck.ts";
import { numberBelow } from "./draw/number.ts";
import { prizeAt } from "./draw/odds.ts";
import { commitmentOf, playSeed } from "./draw/seeds.ts";
import { findGame, type Game } from "./game/game.ts";
import { masterOf } from "./play/game-now.ts";
import { Proof, proofOf } from "./play/proof.ts";
import { without } from "./play/stock.ts";

export default tool({
  name: "verify_game_play",
  title: "Verify a play",
  description:
    "Computes the draw of a play again from its seeds, and compares it with the stored one. A player can do the same without the service; the guide Games says how.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { playId: z.uuid().describe("From list_game_plays"), propertyId: z.uuid() },
  output: z.object({
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
  }),
  faults: ["not_found", "conflict"],
  async handler(context, { playId }) {
    const play = await findPlay(context, playId);
    if (play.player_id === null) {
      throw new Fault("conflict", { message: "The player was erased, and with the player the play's seed." });
    }
    const game = await findGame(context, play.game_id);
    if (game.odds === null) throw new Fault("conflict", { message: "The game has not been activated." });
    const master = await masterOf(context, game.id);
    const { checks, proof, odds } = recomputed(game, play, master);
    const valid = Object.values(checks).every(Boolean);
    return { valid, checks, proof, odds: odds.prizes, master_seed: game.master_seed };
  },
});

function recomputed(game: Game, play: Play, master: Buffer) {
  const { nonce: n, client_seed: clientSeed, roll } = play;
  const number = { gameId: game.id, playerId: play.player_id!, n };
  const seed = playSeed(master, number);
  const odds = play.odds_snapshot ?? game.odds!;
  const drawn =
    game.draw === "deck" ? { roll, prize: ticketAt(master, game.id, odds, roll) } : redrawn(game, play, seed);
  const checks = {
    master_seed: commitmentOf(master) === game.server_seed_hash,
    play_seed: commitmentOf(seed) === play.server_seed_hash,
    number: drawn.roll === roll,
    prize: drawn.prize === play.drawn_prize_id,
  };
  const { denominator } = odds;
  const proof = proofOf(
    game,
    { seed, clientSeed, number: roll, denominator },
    { master, number: { ...number, n: n + 1 } },
  );
  return { checks, proof, odds };
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
