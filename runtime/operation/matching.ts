import { parseQuery } from "#db/query/parse.ts";
import { andVisible, filtersSql } from "#db/query/to-sql.ts";
import { adHoc, identifier } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { columnNames, readableOf } from "./columns.ts";
import type { Context } from "./context.ts";
import { byKnownKeys } from "./lists.ts";
import type { DefinedKeys, Row, Table } from "./table.ts";

/** The most rows that one change of a collection may touch. */
const MOST = 1000;

/**
 * The rows that filters match, as the reader prints them, locked until the transaction ends. Of two changes that
 * select the same state, the second finds it gone. Throws `invalid` where there are too many.
 */
export async function lockMatching(
  context: Context,
  table: Table,
  filters: [string, string][],
): Promise<Row[]> {
  const { sql, property } = context;
  const readable = readableOf(table);
  const asked = parseQuery(readable, filters, property.default_country).where;
  const where = await byKnownKeys(table, asked, keysBySql(context));
  const rows = await sql<{ row: Row }[]>`
    select row_to_json(r) as row from (
      select ${columnNames(table)} from ${identifier(table.name)}
      where property_id = ${property.id} ${andVisible(readable)} and (${adHoc(filtersSql(readable, where))})
      order by id limit ${MOST + 1} for update) r`;
  if (rows.length > MOST) {
    throw new Fault("invalid", { message: `The filters match more than ${MOST} rows. Narrow them.` });
  }
  return rows.map(({ row }) => row);
}

/** The look-up of `byKnownKeys` inside a transaction. */
function keysBySql({ sql, property }: Context) {
  return async ({ definitions, key }: DefinedKeys): Promise<Row[]> => sql<Row[]>`
    select * from ${identifier(definitions.name)} where property_id = ${property.id} order by ${identifier(key)}`;
}
