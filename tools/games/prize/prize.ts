import { type Fragment, sql } from "#db/sql.ts";
import { storedNames } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { RowOf, StoredOf } from "#runtime/operation/table.ts";
import { columns } from "./columns.ts";

export type Prize = RowOf<typeof columns>;

/** A prize as it is stored. */
export type StoredPrize = StoredOf<typeof columns>;

/** The prizes of a game as JSON in the order of its odds: by their place on the wheel, then as they were made. */
export function prizesSql({ property }: Tenant, gameId: string): Fragment {
  return sql`
    select coalesce(json_agg(row_to_json(v)), '[]') as prizes from (
      select ${storedNames(columns)} from game_prizes
      where property_id = ${property.id}::uuid and game_id = ${gameId}::uuid
      order by slice_index nulls last, created_at, id) v`;
}

/** The prizes of a game in the order of its odds. */
export async function prizesOf(tenant: Tenant, gameId: string): Promise<StoredPrize[]> {
  const [{ prizes }] = await tenant.sql<[{ prizes: StoredPrize[] }]>`${prizesSql(tenant, gameId)}`;
  return prizes;
}
