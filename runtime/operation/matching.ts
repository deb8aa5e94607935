import { type Condition, conditionsOf, type Filter } from "#db/query/conditions.ts";
import { parseQuery } from "#db/query/parse.ts";
import { andVisible, QueryError } from "#db/query/readable-table.ts";
import type { Reader } from "#db/query/reader.ts";
import { filtersSql } from "#db/query/to-sql.ts";
import { adHoc, identifier } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { columnNames, readableOf } from "./columns.ts";
import type { Context } from "./context.ts";
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
  const { where } = parseQuery(readable, filters, property.default_country);
  await checkKeys(table, where, keysBySql(context));
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

/**
 * Refuses filters by an undefined key: a misspelt key is null in every row, and would match none or all of them. The
 * definitions are read only for such a filter. Throws QueryError, naming its parameter.
 */
export async function checkKeys(
  { definedKeys }: Table,
  where: Filter[],
  read: (definedKeys: DefinedKeys) => Promise<Row[]>,
): Promise<void> {
  if (!definedKeys || where.length === 0) return;
  const filters = where.flatMap(conditionsOf).filter((one) => isByKey(one, definedKeys));
  if (filters.length === 0) return;
  const rows = await read(definedKeys);
  const known = new Set(rows.map((row) => row[definedKeys.key]));
  const stray = filters.find(({ path }) => !known.has(path[0]));
  if (stray) throw new QueryError(stray.field, definedKeys.unknown(stray.path[0]!, rows));
}

function isByKey({ column, path }: Condition, definedKeys: DefinedKeys): boolean {
  return column === definedKeys.column && path.length > 0;
}

/** The look-up of `checkKeys` outside a transaction. */
export function keysByReader(reader: Reader, property: string) {
  return async ({ definitions, key }: DefinedKeys): Promise<Row[]> => {
    const readable = readableOf(definitions);
    const query = parseQuery(readable, [
      ["order", key],
      ["limit", "1000"],
    ]);
    return JSON.parse((await reader.list(property, readable, query)).body) as Row[];
  };
}

/** The look-up of `checkKeys` inside a transaction. */
export function keysBySql({ sql, property }: Context) {
  return async ({ definitions, key }: DefinedKeys): Promise<Row[]> => sql<Row[]>`
    select * from ${identifier(definitions.name)} where property_id = ${property.id} order by ${identifier(key)}`;
}
