import { type Condition, conditionsOf } from "#db/query/conditions.ts";
import type { Query } from "#db/query/parse.ts";
import { QueryError, type ReadableTable } from "#db/query/readable-table.ts";
import type { Reader } from "#db/query/reader.ts";
import { readableOf } from "./columns.ts";
import type { Table } from "./table.ts";

/** Filters by key: one value, or a list of values of which one is meant. */
export type Filters = Readonly<Record<string, string | readonly string[]>>;

/** The operators for a list, by those for one value. */
const ANY_OF: Readonly<Record<string, string>> = { in: "in", eq: "in", neq: "not.in" };
const OF_ARRAYS = new Set(["eq", "neq", "cs", "cd", "ov"]);

/** Filters as the pairs of a query: a list in the query's own notation. Throws QueryError naming the key. */
export function filterPairs(readable: ReadableTable, filters: Filters): [string, string][] {
  return Object.entries(filters).map(([key, value]) =>
    typeof value === "string" ? [key, value] : listed(readable, key, value),
  );
}

function listed({ columns }: ReadableTable, key: string, values: readonly string[]): [string, string] {
  const words = key.split(".");
  const operator = words.at(-1)!;
  const items = values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",");
  const column = Object.hasOwn(columns, words[0]!) ? columns[words[0]!]! : undefined;
  if (column?.type.endsWith("[]") && OF_ARRAYS.has(operator)) return [key, `{${items}}`];
  const any = Object.hasOwn(ANY_OF, operator) ? ANY_OF[operator]! : undefined;
  if (any === undefined || words.length < 2) {
    throw new QueryError(key, `takes one value; a list goes with in, such as {"${words[0]}.in": ["a", "b"]}`);
  }
  return [[...words.slice(0, -1), any].join(".").replace(".not.not.", "."), `(${items})`];
}

/** Operators by which a filter names whole values. */
const NAMING: ReadonlySet<string> = new Set(["eq", "in", "cs", "ov"]);

/** Sentences on an empty list: the values of its filters that no row has, and the values that there are. */
export async function whyEmpty(
  table: Table,
  reader: Reader,
  propertyId: string,
  { where }: Query,
): Promise<string[]> {
  const readable = readableOf(table);
  const asked = where.flatMap(conditionsOf).filter((one) => isNaming(table, one));
  const said = asked.map(async ({ column, value }) => {
    const known = await reader.values(propertyId, readable, column);
    const missing = [value].flat().filter((one) => !known.includes(one));
    return missing.map((one) => nobodyHas(column, one, known));
  });
  return [...new Set((await Promise.all(said)).flat())];
}

/** What to say of a value that no record has. */
export function nobodyHas(column: string, value: string, known: readonly string[]): string {
  const there = known.length > 0 ? `there are ${known.join(", ")}` : "none has a value";
  return `${column}: nothing here has ${JSON.stringify(value)}; ${there}.`;
}

function isNaming({ columns }: Table, { column, operator, not }: Condition): boolean {
  return columns[column]?.vocabulary === true && NAMING.has(operator) && !not;
}
