import { type Fragment, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { PlayedGame } from "#tools/games/game/game.ts";
import { mayPlay } from "#tools/games/tickets/grant.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { BARRED_STATUSES, isStatus } from "#tools/statuses/players.ts";

/** A player before a play. */
export interface Entrant {
  id: string;
  status: string;
  may_play: boolean;
  /** Whole years by the property's calendar; null where the birth date is unknown. */
  age: number | null;
  region: string;
}

/** Locks the player: one play of a player at a time. Throws `not_found`. */
export function lockEntrant(context: Context, playerId: string): Promise<Entrant> {
  return readEntrant(context, playerId, sql`for no key update of p`);
}

/** The same without the lock. */
export function findEntrant(context: Context, playerId: string): Promise<Entrant> {
  return readEntrant(context, playerId, sql``);
}

async function readEntrant(context: Context, playerId: string, lock: Fragment): Promise<Entrant> {
  const { sql: transaction, property } = context;
  const [player] = await transaction<Entrant[]>`
    select p.id, p.status, ${mayPlay(property.id)} as may_play, p.region,
      extract(year from age((now() at time zone ${property.timezone}::text)::date, p.birth_date))::int as age
    from players p
    where p.property_id = ${property.id} and p.id = ${playerId} and (p.deleted_at is null or p.status = 'erased')
    ${lock}`;
  if (player) return player;
  throw new Fault("not_found", { message: `playerId: no player ${playerId} in this property.` });
}

/** Throws `not_eligible` for a player whom a status, an exclusion, the age, the state or the segment bars. */
export async function checkEligible(context: Context, game: PlayedGame, player: Entrant): Promise<void> {
  const barrier = barrierOf(context, game, player) ?? (await outsideSegment(context, game, player));
  if (barrier === null) return;
  throw new Fault("not_eligible", {
    message: `The player may not play this game: ${barrier}.`,
    details: [{ field: "playerId", message: barrier }],
  });
}

function barrierOf({ property }: Context, game: PlayedGame, player: Entrant): string | null {
  if (isStatus(BARRED_STATUSES, player.status)) return player.status;
  if (!player.may_play) return "self_excluded";
  const age = Math.max(game.min_age ?? 0, property.min_age);
  if (player.age !== null && player.age < age) return "underage";
  return game.void_in.some((state) => player.region === `US-${state}`) ? "void_in_state" : null;
}

async function outsideSegment(context: Context, game: PlayedGame, { id }: Entrant): Promise<string | null> {
  if (game.segment_id === null) return null;
  const { sql: transaction, property } = context;
  const audience = await audienceOf(transaction, property.id, game.segment_id);
  const inside = await transaction`${sql`
    select from players p where p.property_id = ${property.id}::uuid and p.id = ${id}::uuid and ${audience}`}`;
  return inside.length > 0 ? null : "not_in_segment";
}
