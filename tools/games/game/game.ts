import { Fault, one } from "#runtime/faults.ts";
import { forEvents, storedNames, viewOf } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { RowOf, StoredOf } from "#runtime/operation/table.ts";
import { columns, type GameStatus } from "./columns.ts";

/** A game as it is stored. */
export type Game = StoredOf<typeof columns>;

/** A game as operations answer it. */
export const GameView = viewOf({ columns });

/** The game; `lock` locks it to the end of the transaction. Throws `not_found`. */
export async function findGame(
  { sql, property }: Tenant,
  id: string,
  { lock = "none" }: { lock?: "none" | "change" | "share" } = {},
): Promise<Game> {
  const locks = { none: sql``, change: sql`for no key update`, share: sql`for share` };
  const games = await sql<{ row: Game }[]>`
    select row_to_json(g) as row from (
      select ${storedNames(columns)} from games
      where property_id = ${property.id} and id = ${id} and deleted_at is null ${locks[lock]}) g`;
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
