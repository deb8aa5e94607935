import { one } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** Locks the player's record. Throws `not_found` for a player who is deleted or erased. */
export async function requirePlayer({ sql, property }: Tenant, id: string): Promise<void> {
  const players = await sql`
    select from players
    where property_id = ${property.id} and id = ${id} and deleted_at is null and status <> 'erased'
    for no key update`;
  one(players, "player", id);
}
