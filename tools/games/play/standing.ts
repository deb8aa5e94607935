import { cte, type Fragment, insertedValues, join, sql } from "#db/sql.ts";
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

/** The player's standing now. */
export async function standingOf(context: Context, game: PlayedGame, playerId: string): Promise<Standing> {
  const pair = { gameId: game.id, playerId };
  const zone = sql`select ${game.reset_timezone ?? context.property.timezone}::text as zone`;
  const own = sql`
    select nonce, plays, today, day, last_played_at, wins from game_standings
    where property_id = ${context.property.id}::uuid and player_id = ${playerId}::uuid and game_id = ${game.id}::uuid`;
  const parts = [cte("zone", zone), cte("own", own), ...standingParts(context, pair)];
  const [standing] = await context.sql<[Standing]>`with ${join(parts)} select * from standing`;
  return standing;
}

/**
 * The parts of a statement that read `standing`, and lock its row. The conflict finds the row by the key, whatever plan
 * PostgreSQL keeps; the row itself stays as it is. `zone`: of the game's limits.
 */
export function lockedStanding(context: Context, pair: Pair, zone: Fragment): Fragment[] {
  const own = sql`
    insert into game_standings (property_id, player_id, game_id)
    select p.property_id, p.id, ${pair.gameId}::uuid from zone, players p
    where p.property_id = ${context.property.id}::uuid and p.id = ${pair.playerId}::uuid
    on conflict (property_id, player_id, game_id) do update set nonce = game_standings.nonce
    returning nonce, plays, today, day, last_played_at, wins`;
  return [cte("zone", zone), cte("own", own), ...standingParts(context, pair)];
}

/** `standing`, of the player's row `own` and the `zone`. */
function standingParts({ property }: Context, { gameId, playerId }: Pair): Fragment[] {
  const clock = sql`
    select moment, (moment at time zone zone)::date as day from (select statement_timestamp() as moment, zone from zone) z`;
  const open = sql`
    select t.id, t.source, t.source_id, t.expires_at from game_tickets t, clock c
    where t.property_id = ${property.id}::uuid and t.player_id = ${playerId}::uuid and t.game_id = ${gameId}::uuid
      and t.used_play_id is null and (t.expires_at is null or t.expires_at > c.moment)`;
  const standing = sql`
    select to_json(c.moment) #>> '{}' as moment, c.day::text as day, coalesce(o.nonce, 0) as nonce,
      coalesce(o.plays, 0) as plays, case when o.day = c.day then o.today else 0 end as today,
      extract(epoch from c.moment - o.last_played_at)::double precision as since, coalesce(o.wins, '{}') as wins,
      (select count(*)::int from open) as tickets,
      (select to_jsonb(t) - 'expires_at' from open t order by t.expires_at nulls last, t.id limit 1) as next
    from clock c left join own o on true`;
  return [cte("clock", clock, "materialized"), cte("open", open), cte("standing", standing)];
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

/** The statement that stores a standing. */
export function storedStanding(
  { property }: Context,
  { gameId, playerId }: Pair,
  { nonce, plays, today, day, moment, wins }: Standing,
): Fragment {
  const row = { property_id: property.id, player_id: playerId, game_id: gameId };
  return sql`
    insert into game_standings ${insertedValues({ ...row, nonce, plays, today, day, last_played_at: moment, wins })}
    on conflict (property_id, player_id, game_id) do update
      set nonce = excluded.nonce, plays = excluded.plays, today = excluded.today, day = excluded.day,
        last_played_at = excluded.last_played_at, wins = excluded.wins`;
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
