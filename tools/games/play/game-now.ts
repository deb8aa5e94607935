import { type Fragment, sql } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { openMaster } from "#tools/games/draw/seeds.ts";
import type { PlayedGame } from "#tools/games/game/game.ts";

/** Throws `game_not_active`, with the reason. `moment`: ISO, by the database's clock. */
export function checkActive({ status, starts_at, ends_at }: PlayedGame, moment: string): void {
  const at = Date.parse(moment);
  if (status !== "active") throw closed(`The game is ${status}.`);
  if (starts_at !== null && at < Date.parse(starts_at)) throw closed(`The game starts at ${starts_at}.`);
  if (ends_at !== null && at >= Date.parse(ends_at)) throw closed(`The game ended at ${ends_at}.`);
}

/** The sealed master seed; no row before the activation. */
export function sealedSql({ property }: Tenant, gameId: string): Fragment {
  return sql`
    select master from game_seeds where property_id = ${property.id}::uuid and game_id = ${gameId}::uuid`;
}

/** The sealed master seed; null before the activation. */
export async function sealedMaster(tenant: Tenant, gameId: string): Promise<string | null> {
  const [seed] = await tenant.sql<{ master: string }[]>`${sealedSql(tenant, gameId)}`;
  return seed?.master ?? null;
}

/** The master seed of an activated game. */
export async function masterOf(context: Context, gameId: string): Promise<Buffer> {
  const sealed = await sealedMaster(context, gameId);
  if (sealed === null) throw closed("The game has not been activated.");
  return openMaster(context.config, context.property.id, gameId, sealed);
}

/** Counts a play of a game that has a limit of them. */
export async function countPlay({ sql, property }: Context, { id, play_limits }: PlayedGame): Promise<void> {
  const most = play_limits.game_total;
  if (most === undefined) return;
  const [more] = await sql`
    update game_counts set plays = plays + 1
    where property_id = ${property.id} and game_id = ${id} and plays < ${most} returning 1`;
  if (!more) throw closed(`The game has had its ${counted(most, "play")}.`);
}

function closed(message: string): Fault {
  return new Fault("game_not_active", { message });
}
