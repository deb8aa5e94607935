import { type Fragment, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Game } from "#tools/games/game/game.ts";
import type { TicketSource } from "#tools/games/tickets/grant.ts";

/** A player's plays and tickets in a game at a moment. */
export interface Standing {
  /** The database's time, ISO. */
  moment: string;
  /** The number of the last play. */
  nonce: number;
  plays: number;
  today: number;
  /** Seconds since the last play; null before the first. */
  since: number | null;
  tickets: number;
  /** The ticket that the next play takes: the one that expires first. */
  next: { id: string; source: TicketSource; source_id: string | null } | null;
}

/** The player's standing now. */
export async function standingOf(context: Context, gameId: string, playerId: string): Promise<Standing> {
  const [standing] = await context.sql<[Standing]>`${standingSql(context, gameId, playerId)}`;
  return standing;
}

/** The row of a standing. Plays by tickets of a free game are beyond its limits, and count in none of them. */
export function standingSql({ property }: Context, gameId: string, playerId: string): Fragment {
  return sql`
    with clock as (
      select statement_timestamp() as moment, coalesce(g.reset_timezone, ${property.timezone}::text) as zone,
        g.cost ->> 'type' = 'free' as is_free
      from games g where g.property_id = ${property.id}::uuid and g.id = ${gameId}::uuid
    ), played as (
      select coalesce(max(y.nonce) filter (where y.drawn_for is null), 0) as nonce, max(y.played_at) as last,
        count(y.id) filter (where (not c.is_free or y.entry = 'open') and y.status <> 'voided')::int as plays,
        count(y.id) filter (where (not c.is_free or y.entry = 'open') and y.status <> 'voided'
          and y.played_at >= date_trunc('day', c.moment at time zone c.zone) at time zone c.zone)::int as today
      from clock c left join game_plays y
        on y.property_id = ${property.id}::uuid and y.game_id = ${gameId}::uuid and y.player_id = ${playerId}::uuid
    ), open as (
      select t.id, t.source, t.source_id, t.expires_at from game_tickets t, clock c
      where t.property_id = ${property.id}::uuid and t.player_id = ${playerId}::uuid and t.game_id = ${gameId}::uuid
        and t.used_play_id is null and (t.expires_at is null or t.expires_at > c.moment)
    )
    select to_json(c.moment) #>> '{}' as moment, l.nonce, l.plays, l.today,
      extract(epoch from c.moment - l.last)::double precision as since, (select count(*)::int from open) as tickets,
      (select to_jsonb(o) - 'expires_at' from open o order by o.expires_at nulls last, o.id limit 1) as next
    from clock c, played l`;
}

/** How the next play comes in: open, or by the ticket. Throws `play_limit_reached`. */
export function wayIn({ cost, play_limits: limits }: Game, standing: Standing): "open" | "ticket" {
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
export function playsLeft({ cost, play_limits }: Game, standing: Standing): number | null {
  const left = leftIn(play_limits, standing);
  if (cost.type !== "free") return Math.max(0, Math.min(left, standing.tickets));
  return left === Number.POSITIVE_INFINITY ? null : Math.max(0, left) + standing.tickets;
}

function leftIn(limits: Game["play_limits"], { plays, today }: Standing): number {
  const none = Number.POSITIVE_INFINITY;
  return Math.min((limits.per_player_total ?? none) - plays, (limits.per_player_per_day ?? none) - today);
}

function reached(message: string, retryAfter?: number): Fault {
  return new Fault("play_limit_reached", { message, ...(retryAfter !== undefined && { retryAfter }) });
}
