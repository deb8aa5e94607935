import { createHash } from "node:crypto";
import { deckOf } from "#tools/games/draw/deck.ts";
import { numberBelow } from "#tools/games/draw/number.ts";
import { chance } from "../../tools/games/proof/chi-square.ts";
import type { Report } from "../support/figure.ts";

const DRAWS = Number(process.env.BENCH_DRAWS ?? 10_000_000);
const LIMIT = 1_000;
const TICKETS = 100;
const SEED = createHash("sha256").update("draws").digest();

/**
 * The chi-square of both models: of independent draws, and of as many tickets by their places in decks. BENCH_DRAWS
 * sizes it.
 */
export default async function bench(report: Report): Promise<void> {
  const numbers = new Uint32Array(LIMIT);
  const startedAt = performance.now();
  for (let n = 0; n < DRAWS; n += 1) numbers[numberBelow(SEED, `draw:${n}`, LIMIT)]! += 1;
  const perSecond = (DRAWS * 1_000) / (performance.now() - startedAt);
  const line = (name: string, p: number) =>
    report({ name, ours: p, peer: 0.001, ratio: perSecond, goal: "p > 0.001", met: p > 0.001 });
  line(
    `chi-square of ${DRAWS} independent draws, p / draws a second`,
    chance(numbers, () => DRAWS / LIMIT),
  );
  line(`chi-square of ${DRAWS} tickets at their places, p`, decks());
}

/** Tickets of many decks, each counted at its place. Each place has one ticket of a deck, and each ticket one place. */
function decks(): number {
  const id = "00000000-0000-7000-8000-000000000000";
  const prizes = Array.from({ length: TICKETS }, () => ({ prize_id: id, weight: 1 }));
  const places = new Uint32Array(TICKETS * TICKETS);
  const count = DRAWS / TICKETS;
  for (let n = 0; n < count; n += 1) {
    const master = createHash("sha256").update(`deck ${n}`).digest();
    const deck = deckOf(master, id, { denominator: TICKETS, prizes });
    for (const [place, ticket] of deck.entries()) places[place * TICKETS + ticket]! += 1;
  }
  return chance(places, () => count / TICKETS);
}
