import type { Context } from "#runtime/operation/context.ts";

type Held = Pick<Context, "sql" | "property">;

/** Locks the property's imports to the end of the transaction. Callers that an import must not overlap take it too. */
export async function importTurn({ sql, property }: Held): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`import ${property.id}`}, 0))`;
}

/**
 * SQL of the shared lock for storing single players, to the end of the transaction. Take it before any row lock: a
 * transaction that waits in `holdPlayers` may want that row.
 */
export function playersTurn(propertyId: string): string {
  // A property's id is a uuid, as the directory has it.
  return `select pg_advisory_xact_lock_shared(hashtextextended('players ${propertyId}', 0))`;
}

/**
 * Stops all other writers of players to the end of the caller's transaction. Earlier writers have committed, and their
 * rows are visible.
 */
export async function holdPlayers(held: Held): Promise<void> {
  await importTurn(held);
  await haltPlayers(held);
}

/**
 * As `holdPlayers`, for a caller that has the import lock and row locks already. A writer that waits for such a row
 * gives up first: it began to wait sooner. PostgreSQL looks for deadlocks after one second, writers wait for two.
 */
export async function haltPlayers({ sql, property }: Held): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`players ${property.id}`}, 0))`;
}
