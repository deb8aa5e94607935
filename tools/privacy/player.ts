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

/**
 * The person's other records: those that were merged into this one, whose ledger rows still name them, and deleted ones
 * that have the same player_id and one of the same addresses. An address alone may be shared, and a number given anew.
 */
export async function furtherRecords({ sql, property }: Context, id: string): Promise<KnownPlayer[]> {
  return await sql<KnownPlayer[]>`
    select o.id, o.player_id, o.status, o.legal_hold, o.email, o.phone, o.first_name, o.last_name, o.birth_date
    from players o join players p on p.property_id = ${property.id} and p.id = ${id}
    where o.property_id = ${property.id} and (o.merged_into = p.id
      or o.player_id = p.player_id and o.deleted_at is not null and o.id <> p.id and o.merged_into is null
        and o.status <> 'erased' and (o.email_hash = p.email_hash or o.phone_hash = p.phone_hash))
    order by o.id`;
}
