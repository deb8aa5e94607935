import { type Fragment, raw, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** Over `players d`: a deleted record that was banned, or whose person has died. Its number means that person still. */
const IS_BARRED = raw(
  "d.deleted_at is not null and d.merged_into is null and d.status in ('banned', 'deceased')",
);

/** The statuses that only people lift. */
export type BarredStatus = "banned" | "deceased";

/** Over `players d`: such a record that had this player_id. */
export function isBarred({ property }: Pick<Tenant, "property">, playerId: Fragment): Fragment {
  return sql`d.property_id = ${property.id}::uuid and d.player_id = ${playerId} and ${IS_BARRED}`;
}

/** The status of a deleted record with this player_id, which only people lift: as SQL. */
export function barOf(tenant: Pick<Tenant, "property">, playerId: Fragment): Fragment {
  return sql`select max(d.status) as status from players d where ${isBarred(tenant, playerId)}`;
}

/** Whether the property has such records at all: as SQL. */
export function anyBar({ property }: Pick<Tenant, "property">): Fragment {
  return sql`exists (select from players d where d.property_id = ${property.id}::uuid and ${IS_BARRED})`;
}

/** Gives the deleted records with this player_id the status to which people have lifted the bar. */
export async function liftDeletedBars(
  { sql: transaction, property }: Tenant,
  playerId: string,
  status: string,
): Promise<void> {
  await transaction`${sql`
    update players d set status = ${status}::text
    where ${isBarred({ property }, sql`${playerId}::text`)}`}`;
}
