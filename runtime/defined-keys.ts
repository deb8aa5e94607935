import { parseQuery } from "#db/filters.ts";
import { type Condition, conditionsOf, type Filter } from "#db/filters-conditions.ts";
import type { Reader } from "#db/reader.ts";
import { QueryError } from "#db/shape.ts";
import { shapeOf } from "./columns.ts";
import type { Context } from "./context.ts";
import type { Row, Table } from "./operation.ts";

/** A JSON column of which each key is a record of another table. */
export interface DefinedKeys {
  readonly column: string;
  readonly definitions: Table;
  /** The definitions' column that holds the key. */
  readonly key: string;
  /** What to say of a key that none of the definitions has. */
  unknown(key: string, definitions: Row[]): string;
}

/**
 * Refuses filters by a key that nobody has defined: a misspelt one is null in every row, and would match none or
 * all of them. The definitions are read only where there is such a filter. Throws QueryError naming its parameter.
 */
export async function checkKeys(
  { definedKeys }: Table,
  where: Filter[],
  read: (definedKeys: DefinedKeys) => Promise<Row[]>,
): Promise<void> {
  if (!definedKeys || where.length === 0) return;
  const asked = where.flatMap(conditionsOf).filter((one) => isByKey(one, definedKeys));
  if (asked.length === 0) return;
  const rows = await read(definedKeys);
  const known = new Set(rows.map((row) => row[definedKeys.key]));
  const stray = asked.find(({ path }) => !known.has(path[0]));
  if (stray) throw new QueryError(stray.field, definedKeys.unknown(stray.path[0]!, rows));
}

function isByKey({ column, path }: Condition, definedKeys: DefinedKeys): boolean {
  return column === definedKeys.column && path.length > 0;
}

/** For `checkKeys`, outside a transaction. */
export function keysByReader(reader: Reader, property: string) {
  return async ({ definitions, key }: DefinedKeys): Promise<Row[]> => {
    const shape = shapeOf(definitions);
    const query = parseQuery(shape, [
      ["order", key],
      ["limit", "1000"],
    ]);
    return JSON.parse((await reader.list(property, shape, query)).body) as Row[];
  };
}

/** For `checkKeys`, inside one. */
export function keysBySql({ sql, property }: Context) {
  return async ({ definitions, key }: DefinedKeys): Promise<Row[]> => sql<Row[]>`
    select * from ${sql(definitions.name)} where property_id = ${property.id} order by ${sql(key)}`;
}
