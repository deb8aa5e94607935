import { createHmac } from "node:crypto";
import { LRUCache } from "lru-cache";
import { numberBelow } from "./number.ts";
import type { Odds } from "./odds.ts";

/** The most tickets of a deck. Their shuffling takes about a third of a second, once a process and game. */
export const MOST_TICKETS = 100_000;

const decks = new LRUCache<string, Uint16Array>({ max: 20 });

/**
 * The tickets of a deck in their order, each the position of its prize in the odds. It begins with each prize's tickets
 * side by side, and Fisher and Yates shuffle it from the end: ticket i changes places with the number below i + 1 that
 * HMAC-SHA256(master, `game:deck`) gives for `deck:i`.
 */
export function deckOf(master: Uint8Array, gameId: string, { denominator, prizes }: Odds): Uint16Array {
  const seed = createHmac("sha256", master).update(`${gameId}:deck`).digest();
  const tickets = new Uint16Array(denominator);
  let end = 0;
  for (const [position, { weight }] of prizes.entries()) {
    tickets.fill(position, end, end + weight);
    end += weight;
  }
  for (let last = denominator - 1; last > 0; last -= 1) {
    const other = numberBelow(seed, `deck:${last}`, last + 1);
    const ticket = tickets[last]!;
    tickets[last] = tickets[other]!;
    tickets[other] = ticket;
  }
  return tickets;
}

/** The prize of the ticket at a position, from 0. An activated game's deck never changes, so it is kept. */
export function ticketAt(master: Uint8Array, gameId: string, odds: Odds, position: number): string {
  let deck = decks.get(gameId);
  if (!deck) {
    deck = deckOf(master, gameId, odds);
    decks.set(gameId, deck);
  }
  return odds.prizes[deck[position]!]!.prize_id;
}
