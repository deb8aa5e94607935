import { z } from "zod";
import { formOfValues, HASH_FORM } from "#db/query/forms.ts";
import { internal, readable, timestamp } from "#runtime/operation/columns.ts";
import { Odds } from "#tools/games/draw/odds.ts";
import { SOURCES } from "#tools/games/tickets/grant.ts";

/** The statuses of a play whose prize can still be had. */
export const OPEN_PLAYS = ["revealed", "claimed", "needs_tax_form"] as const;
export const PLAY_STATUSES = [...OPEN_PLAYS, "redeemed", "expired", "voided"] as const;

const time = () => readable(timestamp().nullable());

/** The columns of a play. Its seed and its code stand in none that is answered. */
export const columns = {
  game_id: readable(z.uuid(), { concise: true }),
  player_id: readable(z.uuid().nullable().describe("Null once the player is erased"), { concise: true }),
  prize_id: readable(z.uuid().nullable(), { concise: true }),
  outcome: readable(z.enum(["win", "lose"]), { concise: true }),
  status: readable(z.enum(PLAY_STATUSES), { concise: true }),
  entry: readable(z.string().describe("open, or the source of the ticket that it took"), {
    concise: true,
    form: formOfValues(["open", ...SOURCES]),
  }),
  ticket_id: readable(z.uuid().nullable()),
  campaign_id: readable(z.uuid().nullable()),
  journey_id: readable(z.uuid().nullable()),
  odds_snapshot: readable(Odds.nullable().describe("Null where the game's own odds were drawn from")),
  drawn_prize_id: readable(
    z
      .uuid()
      .nullable()
      .describe("The drawn prize. It differs from prize_id where that prize was out of stock"),
  ),
  server_seed_hash: readable(z.string().describe("SHA-256 of the play's seed"), { form: HASH_FORM }),
  client_seed: readable(z.string()),
  nonce: readable(z.int().describe("The number of the player's play in this game")),
  /** The merged record that drew. */
  drawn_for: internal(z.uuid().nullable()),
  roll: readable(z.int().describe("The drawn number; in a deck the ticket's position from 0")),
  deck_ticket: readable(z.int().nullable().describe("In a deck: the ticket, from 1")),
  value: readable(z.number().describe("Of the prize, in dollars")),
  code_hash: internal(z.unknown()),
  code_sealed: internal(z.string().nullable()),
  expires_at: time(),
  claimed_at: time(),
  redeemed_at: time(),
  redeemed_by: readable(z.string().nullable().describe("The cashier")),
  redeemed_where: readable(z.string().nullable()),
  void_reason: readable(z.string().nullable()),
  played_at: readable(timestamp(), { concise: true }),
};
