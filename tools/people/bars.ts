import { type Fragment, literals, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { isStatus, KEPT_BY_NUMBER } from "#tools/statuses/players.ts";
import { addressHash } from "./address.ts";

/** Over `players d`: a deleted record with such a status. */
export const IS_BARRED = sql`d.deleted_at is not null and d.merged_into is null
  and d.status in (${literals(KEPT_BY_NUMBER)})`;

/** Over `players d`: such a record that had this player_id. */
function isBarred({ property }: Pick<Tenant, "property">, playerId: Fragment): Fragment {
  return sql`d.property_id = ${property.id}::uuid and d.player_id = ${playerId} and ${IS_BARRED}`;
}

/** A player_id in the suppressions. After an erasure nothing else says that it means a barred person. */
export function numberHash(pepper: Buffer, playerId: string): Buffer {
  return addressHash(pepper, `number|${playerId}`);
}

/** Over `suppressions e`: the bar of an erased record that had the player_id with this hash. */
function isErasedBar({ property }: Pick<Tenant, "property">, hash: Fragment): Fragment {
  return sql`e.property_id = ${property.id}::uuid and e.address_hash = ${hash} and e.lifted_at is null
    and e.reason in ('banned', 'self_excluded')`;
}

/** The status that is kept for a player_id, as SQL: a self-exclusion before all others. `hash` is its `numberHash`. */
export function barOf(tenant: Pick<Tenant, "property">, playerId: Fragment, hash: Fragment): Fragment {
  return sql`
    select max(b.status) as status from (
      select d.status from players d where ${isBarred(tenant, playerId)}
      union all
      select e.reason from suppressions e where ${isErasedBar(tenant, hash)}) b`;
}

/** Whether the property has such records at all: as SQL. */
export function anyBar({ property }: Pick<Tenant, "property">): Fragment {
  return sql`exists (select from players d where d.property_id = ${property.id}::uuid and ${IS_BARRED})`;
}

/** Whether the property has erased people, whose player_id may be barred: as SQL. */
export function anyErased({ property }: Pick<Tenant, "property">): Fragment {
  return sql`exists (select from privacy_requests q
    where q.property_id = ${property.id}::uuid and q.type = 'deletion' and q.status = 'completed')`;
}

/** Keeps the bar of an erased person for all their player_ids, by hashes. Answers whether one of the statuses is one. */
export async function keepErasedBar(
  { sql: transaction, property }: Pick<Tenant, "sql" | "property">,
  playerIds: readonly string[],
  statuses: readonly string[],
): Promise<boolean> {
  const bars = statuses.filter((status) => isStatus(KEPT_BY_NUMBER, status));
  if (bars.length === 0) return false;
  const hashes = playerIds.map((one) => numberHash(property.pepper, one).toString("hex"));
  await transaction`
    insert into suppressions (property_id, channel, address_hash, reason, source)
    select ${property.id}, 'all', decode(h, 'hex'), ${bars.includes("self_excluded") ? "self_excluded" : "banned"}, 'player_id'
    from unnest(${hashes}::text[]) as h
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null do nothing`;
  return true;
}

/** Gives the deleted records with this player_id the status to which people have lifted the bar. A self-exclusion stays. */
export async function liftDeletedBars(
  { sql: transaction, property }: Tenant,
  playerId: string,
  status: string,
): Promise<void> {
  await transaction`${sql`
    update players d set status = ${status}::text
    where ${isBarred({ property }, sql`${playerId}::text`)} and d.status <> 'self_excluded'`}`;
  await transaction`
    with clock as materialized (select now() as moment)
    update suppressions e set lifted_at = clock.moment, updated_at = clock.moment from clock
    where ${isErasedBar({ property }, sql`${numberHash(property.pepper, playerId)}::bytea`)} and e.reason = 'banned'`;
}
