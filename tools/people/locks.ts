import type { Context } from "#runtime/operation/context.ts";

type Held = Pick<Context, "sql" | "property">;

/** One at a time, to the end of the transaction: imports, and who must not meet one halfway. */
export async function importTurn({ sql, property }: Held): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`import ${property.id}`}, 0))`;
}

/**
 * SQL for who stores players one by one, side by side, to the end of the transaction. Before any row is locked: who
 * waits in `holdPlayers` may want that row.
 */
export function playersTurn(propertyId: string): string {
  // A property's id is a uuid, as the directory has it.
  return `select pg_advisory_xact_lock_shared(hashtextextended('players ${propertyId}', 0))`;
}

/** Until the caller's transaction ends nobody stores a player; who was about to has done so, and is seen. */
export async function holdPlayers(held: Held): Promise<void> {
  await importTurn(held);
  await haltPlayers(held);
}

/**
 * As `holdPlayers`, for who has the import's turn, and has locked rows by now. Who stores a player and waits for such a
 * row is the one that gives up: the server looks for deadlocks after a second, they wait for two, and began sooner.
 */
export async function haltPlayers({ sql, property }: Held): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`players ${property.id}`}, 0))`;
}
