import { z } from "zod";
import { commitmentOf, type PlayNumber, playSeed } from "#tools/games/draw/seeds.ts";
import type { Game } from "#tools/games/game/game.ts";

/** All that a player needs to check a draw, and the commitment to the next one. */
export const Proof = z.object({
  model: z.enum(["independent", "deck"]),
  game_seed_hash: z.string().describe("SHA-256 of the game's master seed, published at activation"),
  seed_hash: z.string().describe("SHA-256 of this play's seed, shown before the play"),
  seed: z.string().describe("HMAC-SHA256(master, game:player:nonce) in hex"),
  client_seed: z.string(),
  nonce: z.int(),
  number: z
    .int()
    .describe("From HMAC-SHA256(seed, client_seed:nonce:cursor); in a deck the ticket's position from 0"),
  denominator: z.int().describe("The number is below it"),
  next_seed_hash: z.string().describe("SHA-256 of the seed of the player's next play"),
});
export type Proof = z.output<typeof Proof>;

/** The proof of a play whose seed may be shown: it has been played. */
export function proofOf(
  game: Pick<Game, "draw" | "server_seed_hash">,
  play: { seed: Buffer; clientSeed: string; number: number; denominator: number },
  next: { master: Buffer; number: PlayNumber },
): Proof {
  return {
    model: game.draw,
    game_seed_hash: game.server_seed_hash!,
    seed_hash: commitmentOf(play.seed),
    seed: play.seed.toString("hex"),
    client_seed: play.clientSeed,
    nonce: next.number.n - 1,
    number: play.number,
    denominator: play.denominator,
    next_seed_hash: commitmentOf(playSeed(next.master, next.number)),
  };
}
