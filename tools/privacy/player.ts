import { Fault, one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { KnownPlayer } from "./traces/person.ts";

/**
 * The player's record, even when deleted: deleted data is still stored. Throws `not_found`, and `conflict` for a record
 * that was merged into another one: the request concerns the person, not a part.
 */
export async function findPlayer(
  { sql, property }: Context,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<KnownPlayer> {
  const players = await sql<(KnownPlayer & { merged_into: string | null })[]>`
    select id, player_id, status, legal_hold, email, phone, first_name, last_name, birth_date, merged_into
    from players where property_id = ${property.id} and id = ${id} ${lock ? sql`for update` : sql``}`;
  const { merged_into, ...player } = one(players, "player", id);
  if (merged_into !== null) {
    throw new Fault("conflict", { message: `This player was merged into ${merged_into}. Name that player.` });
  }
  return player;
}

/** The records that were merged into this one. Their ledger rows still name them. */
export async function mergedInto({ sql, property }: Context, id: string): Promise<KnownPlayer[]> {
  return await sql<KnownPlayer[]>`
    select id, player_id, status, legal_hold, email, phone, first_name, last_name, birth_date
    from players where property_id = ${property.id} and merged_into = ${id} order by id`;
}
