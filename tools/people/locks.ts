import type { Tenant } from "#runtime/operation/context.ts";

/** Locks the property's imports to the end of the transaction. Callers that an import must not overlap take it too. */
export async function lockImports({ sql, property }: Tenant): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`import ${property.id}`}, 0))`;
}

/**
 * SQL of the shared lock for storing single players, to the end of the transaction. Take it before any row lock: a
 * transaction that waits in `lockPlayerWrites` may want that row.
 */
export function sharedPlayerWriteLock(propertyId: string): string {
  // A property's id is a uuid, as the directory has it.
  return `select pg_advisory_xact_lock_shared(hashtextextended('players ${propertyId}', 0))`;
}

/**
 * Stops all other writers of players to the end of the caller's transaction. Earlier writers have committed, and their
 * rows are visible. Call `lockImports` first. The caller may have row locks by then: a writer that waits for such a row
 * gives up first, because it began to wait sooner. PostgreSQL looks for deadlocks after one second, writers wait for
 * two.
 */
export async function lockPlayerWrites({ sql, property }: Tenant): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`players ${property.id}`}, 0))`;
}
