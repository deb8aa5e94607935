import { type About, anonymousId, byPlayer, type Trace } from "./trace.ts";

/** The figures and the stock of a game count these. */
const PLAY_KEPT = [
  "game_id",
  "prize_id",
  "outcome",
  "status",
  "entry",
  "campaign_id",
  "journey_id",
  "odds_snapshot",
  "drawn_prize_id",
  "server_seed_hash",
  "nonce",
  "roll",
  "deck_ticket",
  "value",
  "expires_at",
  "claimed_at",
  "redeemed_at",
  "played_at",
];

/** By the games too: the indexes of plays and tickets begin with them. */
const ofTheirGames = ({ sql, property, person }: About) => sql`t.player_id = ${person.id}
  and t.game_id in (select g.id from games g where g.property_id = ${property.id})`;

const eitherSide = ({ sql, person }: About) =>
  sql`(t.player_id = ${person.id} or t.referred_id = ${person.id})`;

/** The person's plays, tickets, browsers and referrals. Referrals stand before the shares that they refer to. */
export const GAME_TRACES: readonly Trace[] = [
  {
    table: "game_plays",
    rows: ofTheirGames,
    exported: "game_plays",
    erasure: {
      set: {
        player_id: "null",
        anon_id: anonymousId,
        ticket_id: "null",
        client_seed: "''",
        code_hash: "null",
        code_sealed: "null",
        drawn_for: "null",
        redeemed_by: "null",
        redeemed_where: "null",
        void_reason: "null",
      },
      kept: PLAY_KEPT,
    },
  },
  { table: "game_standings", rows: byPlayer, bare: true, exported: null, erasure: "delete" },
  { table: "game_tickets", rows: ofTheirGames, exported: "game_tickets", erasure: "delete" },
  { table: "player_devices", rows: byPlayer, bare: true, exported: "devices", erasure: "delete" },
  { table: "share_referrals", rows: eitherSide, exported: "referrals", erasure: "delete" },
];
