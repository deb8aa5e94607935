import { cte, type Fragment, join, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { PlayedGame } from "#tools/games/game/game.ts";
import type { TicketSource } from "#tools/games/tickets/grant.ts";

/** A player's plays and tickets in a game at a moment. */
export interface Standing {
  /** The database's time, ISO. */
  moment: string;
  /** The day of the moment in the zone of the game's limits. */
  day: string;
  /** The number of the last play. */
  nonce: number;
  plays: number;
  today: number;
  /** Seconds since the last play; null before the first. */
  since: number | null;
  /** Wins of the prizes that limit them, by the prizes' ids. */
  wins: Record<string, number>;
  tickets: number;
  /** The ticket that the next play takes: the one that expires first. */
  next: { id: string; source: TicketSource; source_id: string | null } | null;
}

/** A player and a game. */
export interface Pair {
  gameId: string;
  playerId: string;
}

/** The stored part of a standing. */
export interface Stored extends Pick<Standing, "nonce" | "plays" | "today" | "wins"> {
  day: string | null;
  /** Seconds since 1970. */
  last: number | null;
}

/** The part that depends on the time. */
export interface Present extends Pick<Standing, "moment" | "day" | "tickets" | "next"> {
  /** The moment in seconds since 1970. */
  at: number;
}

const NONE: Stored = { nonce: 0, plays: 0, today: 0, day: null, last: null, wins: {} };

/** The player's standing now. */
export async function standingOf(context: Context, game: PlayedGame, playerId: string): Promise<Standing> {
  const { property, sql: transaction } = context;
  const pair = { gameId: game.id, playerId };
  const zone = sql`select ${game.reset_timezone ?? property.timezone}::text as zone`;
  const [[present], [stored]] = await Promise.all([
    transaction<[Present]>`with ${join(presentParts(context, pair, zone))} select * from present`,
    transaction<Stored[]>`${storedSql(context, pair)}`,
  ]);
  return standingAt(stored, present);
}

/** The stored part of a standing; no row before the first play. Writers hold the player's lock. */
export function storedSql({ property }: Context, { gameId, playerId }: Pair): Fragment {
  return sql`
    select nonce, plays, today, day::text as day, extract(epoch from last_played_at)::double precision as last, wins
    from game_standings
    where property_id = ${property.id}::uuid and player_id = ${playerId}::uuid and game_id = ${gameId}::uuid`;
}

/** The parts of a statement that read `present`. `zone`: of the game's limits. */
export function presentParts({ property }: Context, { gameId, playerId }: Pair, zone: Fragment): Fragment[] {
  const clock = sql`
    select moment, (moment at time zone zone)::date as day from (select statement_timestamp() as moment, zone from zone) z`;
  const open = sql`
    select t.id, t.source, t.source_id, t.expires_at from game_tickets t, clock c
    where t.property_id = ${property.id}::uuid and t.player_id = ${playerId}::uuid and t.game_id = ${gameId}::uuid
      and t.used_play_id is null and (t.expires_at is null or t.expires_at > c.moment)`;
  const present = sql`
    select to_json(c.moment) #>> '{}' as moment, extract(epoch from c.moment)::double precision as at,
      c.day::text as day, (select count(*)::int from open) as tickets,
      (select to_jsonb(t) - 'expires_at' from open t order by t.expires_at nulls last, t.id limit 1) as next
    from clock c`;
  return [cte("zone", zone), cte("clock", clock, "materialized"), cte("open", open), cte("present", present)];
}

/** The standing of the stored row at a time. */
export function standingAt(stored: Stored | null | undefined, { at, ...present }: Present): Standing {
  const { nonce, plays, wins, last, ...kept } = stored ?? NONE;
  const today = kept.day === present.day ? kept.today : 0;
  return { ...present, nonce, plays, today, wins, since: last === null ? null : at - last };
}

/** How a play counts. */
export interface Counted {
  /** In the limits of plays. */
  counts: boolean;
  /** The prize that it won, where that has a limit for each player. */
  limitedPrizeId: string | null;
}

/** The standing after a play. Plays by tickets of a free game are beyond its limits, and count in none of them. */
export function standingAfter(standing: Standing, { counts, limitedPrizeId }: Counted): Standing {
  const { plays, today, wins } = standing;
  const more = counts ? 1 : 0;
  const won = limitedPrizeId === null ? {} : { [limitedPrizeId]: (wins[limitedPrizeId] ?? 0) + 1 };
  return {
    ...standing,
    nonce: standing.nonce + 1,
    plays: plays + more,
    today: today + more,
    wins: { ...wins, ...won },
  };
}

/** A standing as a row. */
export function standingRow(
  { property }: Context,
  { gameId, playerId }: Pair,
  { nonce, plays, today, day, moment, wins }: Standing,
) {
  const row = { property_id: property.id, player_id: playerId, game_id: gameId };
  return { ...row, nonce, plays, today, day, last_played_at: moment, wins };
}

/** The statement that stores standings of one property. */
export function storedStandings(rows: ReturnType<typeof standingRow>[]): Fragment[] {
  const stored = sql`
    insert into game_standings (property_id, player_id, game_id, nonce, plays, today, day, last_played_at, wins)
    select ${rows[0]!.property_id}::uuid, player_id, game_id, nonce, plays, today, day, last_played_at, wins
    from jsonb_populate_recordset(null::game_standings, ${rows}::jsonb)
    on conflict (property_id, player_id, game_id) do update
      set nonce = excluded.nonce, plays = excluded.plays, today = excluded.today, day = excluded.day,
        last_played_at = excluded.last_played_at, wins = excluded.wins`;
  return [stored];
}

/** How the next play comes in: open, or by the ticket. Throws `play_limit_reached`. */
export function wayIn({ cost, play_limits: limits }: PlayedGame, standing: Standing): "open" | "ticket" {
  const { since } = standing;
  if (limits.cooldown_seconds !== undefined && since !== null && since < limits.cooldown_seconds) {
    const seconds = Math.ceil(limits.cooldown_seconds - since);
    throw reached(`The next play is possible in ${seconds} seconds.`, seconds);
  }
  const left = leftIn(limits, standing);
  if (cost.type === "free" && left > 0) return "open";
  if (standing.next && (cost.type === "free" || left > 0)) return "ticket";
  throw reached(
    left <= 0
      ? "The player has no play left by the game's limits."
      : "The player has no ticket for this game.",
  );
}

/** Plays that are left by the limits of a player, and the tickets; null where nothing limits them. */
export function playsLeft({ cost, play_limits }: PlayedGame, standing: Standing): number | null {
  const left = leftIn(play_limits, standing);
  if (cost.type !== "free") return Math.max(0, Math.min(left, standing.tickets));
  return left === Number.POSITIVE_INFINITY ? null : Math.max(0, left) + standing.tickets;
}

function leftIn(limits: PlayedGame["play_limits"], { plays, today }: Standing): number {
  const none = Number.POSITIVE_INFINITY;
  return Math.min((limits.per_player_total ?? none) - plays, (limits.per_player_per_day ?? none) - today);
}

function reached(message: string, retryAfter?: number): Fault {
  return new Fault("play_limit_reached", { message, ...(retryAfter !== undefined && { retryAfter }) });
}
