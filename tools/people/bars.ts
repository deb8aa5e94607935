import { type Fragment, raw, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/**
 * Statuses that no API key lifts, the one that goes before all others last. The number of such a record means its person,
 * also after its deletion.
 */
export const KEPT_BY_NUMBER = ["banned", "deceased", "self_excluded"] as const;
export type KeptByNumber = (typeof KEPT_BY_NUMBER)[number];

/** Over `players d`: a deleted record with such a status. */
const IS_BARRED = raw(
  `d.deleted_at is not null and d.merged_into is null and d.status in (${KEPT_BY_NUMBER.map((status) => `'${status}'`).join(", ")})`,
);

/** Over `players d`: such a record that had this player_id. */
export function isBarred({ property }: Pick<Tenant, "property">, playerId: Fragment): Fragment {
  return sql`d.property_id = ${property.id}::uuid and d.player_id = ${playerId} and ${IS_BARRED}`;
}

/** The status that a deleted record keeps for its player_id, as SQL: a self-exclusion before all others. */
export function barOf(tenant: Pick<Tenant, "property">, playerId: Fragment): Fragment {
  return sql`select max(d.status) as status from players d where ${isBarred(tenant, playerId)}`;
}

/** Whether the property has such records at all: as SQL. */
export function anyBar({ property }: Pick<Tenant, "property">): Fragment {
  return sql`exists (select from players d where d.property_id = ${property.id}::uuid and ${IS_BARRED})`;
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
}
