import { type Fragment, identifier, join, sql } from "#db/sql.ts";
import { Fault, one } from "#runtime/faults.ts";
import { forEvents, storedNames, viewOf } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { RowOf, StoredOf } from "#runtime/operation/table.ts";
import type { GameStatus } from "#tools/statuses/games.ts";
import { columns } from "./columns.ts";

/** A game as it is stored. */
export type Game = StoredOf<typeof columns>;

/** A game as operations answer it. */
export const GameView = viewOf({ columns });

/** The columns that a play reads. */
const PLAYED = [
  "id",
  "name",
  "status",
  "draw",
  "starts_at",
  "ends_at",
  "segment_id",
  "min_age",
  "void_in",
  "play_limits",
  "reset_timezone",
  "cost",
  "out_of_stock",
  "server_seed_hash",
  "odds",
] as const;

/** A game as a play reads it: its rules and its approval are long. */
export type PlayedGame = Pick<Game, (typeof PLAYED)[number]>;

const LOCKS = { none: sql``, change: sql`for no key update`, share: sql`for share` };

/** The game as `row`; `lock` locks it to the end of the transaction. */
function gameSql({ property }: Tenant, id: string, lock: keyof typeof LOCKS = "none"): Fragment {
  return sql`
    select row_to_json(g) as row from (
      select ${storedNames(columns)} from games
      where property_id = ${property.id}::uuid and id = ${id}::uuid and deleted_at is null ${LOCKS[lock]}) g`;
}

/** The game as a play reads it, as `row`, locked against a change of its state. */
export function playedGameSql({ property }: Tenant, id: string): Fragment {
  return sql`
    select row_to_json(g) as row from (
      select ${join(PLAYED.map(identifier))} from games
      where property_id = ${property.id}::uuid and id = ${id}::uuid and deleted_at is null for share) g`;
}

/** The game; `lock` locks it to the end of the transaction. Throws `not_found`. */
export async function findGame(
  tenant: Tenant,
  id: string,
  { lock = "none" }: { lock?: keyof typeof LOCKS } = {},
): Promise<Game> {
  const games = await tenant.sql<{ row: Game }[]>`${gameSql(tenant, id, lock)}`;
  return one(games, "game", id).row;
}

/** Throws `conflict`, naming the status, where it is none of these. */
export function checkStatus(
  { status }: Pick<Game, "status">,
  from: readonly GameStatus[],
  verb: string,
): void {
  if (from.includes(status)) return;
  throw new Fault("conflict", {
    message: `The game is ${status}; it can ${verb} while it is ${from.join(" or ")}.`,
  });
}

/** The fields of a game in events. */
export function gameEvent(game: RowOf<typeof columns>) {
  const { id, name, type, status, starts_at, ends_at, server_seed_hash } = forEvents(columns, game) as Game;
  return { id, name, type, status, starts_at, ends_at, server_seed_hash };
}
