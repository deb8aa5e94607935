import { columnNames } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { columns } from "./columns.ts";

export type Prize = RowOf<typeof columns>;

/** The prizes of a game in the order of its odds: by their place on the wheel, then as they were made. */
export async function prizesOf({ sql, property }: Tenant, gameId: string): Promise<Prize[]> {
  const rows = await sql<{ row: Prize }[]>`
    select row_to_json(v) as row from (
      select ${columnNames({ columns })} from game_prizes
      where property_id = ${property.id} and game_id = ${gameId}
      order by slice_index nulls last, created_at, id) v`;
  return rows.map(({ row }) => row);
}
