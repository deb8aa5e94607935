import { z } from "zod";
import { createOnly, internal, readable, writable } from "#runtime/operation/columns.ts";
import { MOST_WEIGHT } from "#tools/games/draw/odds.ts";

export const KINDS = ["free_play", "points", "comp", "coupon", "merch", "no_prize"] as const;

const stock = (least: number) => z.int().min(least).max(MOST_WEIGHT).nullish();

/** The columns of a prize, in the order of answers. */
export const columns = {
  game_id: createOnly(z.uuid().describe("A draft, from list_games"), { concise: true }),
  label: writable(z.string().trim().min(1).max(150).describe("As players read it"), { concise: true }),
  kind: writable(
    z
      .enum(KINDS)
      .describe("free_play: a ticket for one more play, given at once. no_prize: the play wins nothing"),
    { concise: true },
  ),
  value: writable(z.number().min(0).max(1_000_000_000).default(0).describe("In dollars"), { concise: true }),
  weight: writable(
    z
      .int()
      .min(1)
      .max(MOST_WEIGHT)
      .describe("Its share of the sum of all weights. In a deck: the number of its tickets"),
    { concise: true },
  ),
  inventory_total: writable(stock(1).describe("How many there are. Left out: no limit"), { concise: true }),
  inventory_remaining: readable(z.int().nullable(), { concise: true }),
  per_player_limit: writable(stock(1).describe("Wins of one player")),
  daily_limit: writable(stock(1).describe("Wins of all players in a day of the game's zone")),
  code_pool_id: writable(
    z.uuid().nullish().describe("From list_code_pools. Default: a code is made at the claim"),
  ),
  slice_index: writable(z.int().min(0).max(199).nullish().describe("Its place on the wheel, from 0")),
  redeem_within_days: writable(
    z.int().min(1).max(3650).nullish().describe("Days after the play until it expires"),
  ),
  /** The last day on which it was won, and the wins of that day. */
  won_on: internal(z.string().nullable()),
  won_today: internal(z.int()),
};
