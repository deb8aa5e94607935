import { one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { KnownPlayer } from "./traces/person.ts";

/** The player's record, even when deleted: deleted data is still stored. Throws `not_found`. */
export async function findPlayer(
  { sql, property }: Context,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<KnownPlayer> {
  const players = await sql<KnownPlayer[]>`
    select id, player_id, status, legal_hold, email, phone, first_name, last_name, birth_date
    from players where property_id = ${property.id} and id = ${id} ${lock ? sql`for update` : sql``}`;
  return one(players, "player", id);
}
