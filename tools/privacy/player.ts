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

/** Another record of a person. `merged_into`: null for a deleted one. */
export type FurtherRecord = KnownPlayer & { merged_into: string | null };

/**
 * The person's other records: those that were merged into this one, whose ledger rows still name them, and deleted ones
 * that have the same player_id and one of the same addresses, with those that were merged into them. An address alone
 * may be shared, and a number given anew: another birth date tells of another person.
 */
export async function furtherRecords(
  { sql, property }: Context,
  id: string,
  { lock = false }: { lock?: boolean } = {},
): Promise<FurtherRecord[]> {
  return await sql<FurtherRecord[]>`
    with recursive own as (
      select id, player_id, email_hash, phone_hash, birth_date from players
      where property_id = ${property.id} and id = ${id}
      union
      select o.id, o.player_id, o.email_hash, o.phone_hash, o.birth_date from own r cross join lateral (
        select m.id, m.player_id, m.email_hash, m.phone_hash, m.birth_date from players m
        where m.property_id = ${property.id} and m.merged_into = r.id
        union all
        select d.id, d.player_id, d.email_hash, d.phone_hash, d.birth_date from players d
        where d.property_id = ${property.id} and d.player_id = r.player_id and d.deleted_at is not null
          and d.merged_into is null and d.status <> 'erased'
          and (d.email_hash = r.email_hash or d.phone_hash = r.phone_hash)
          and (d.birth_date = r.birth_date) is not false) o
    )
    select id, player_id, status, legal_hold, email, phone, first_name, last_name, birth_date, merged_into
    from players
    where property_id = ${property.id} and id <> ${id} and id = any(array(select id from own))
    order by id ${lock ? sql`for update` : sql``}`;
}
