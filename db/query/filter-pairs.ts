import { OF_LISTS } from "./operands.ts";
import { QueryError, type ReadableTable } from "./readable-table.ts";

/** A value as JSON has it. Null goes with the operator `is` alone. */
type Value = string | number | boolean | null;

/** Filters by key: one value, or a list of values of which one is meant. */
export type Filters = Readonly<Record<string, Value | readonly Value[]>>;

/** The operators for a list, by those for one value. */
const ANY_OF: Readonly<Record<string, string>> = { in: "in", eq: "in", neq: "not.in" };
const OF_PATHS = new Set<string>(OF_LISTS);
const OF_ARRAYS = new Set<string>(["eq", "neq", ...OF_PATHS]);

/** Filters as the pairs of a query: a list in the query's own notation. Throws QueryError naming the key. */
export function filterPairs(readable: ReadableTable, filters: Filters): [string, string][] {
  return Object.entries(filters).map(([key, value]) =>
    Array.isArray(value)
      ? listed(
          readable,
          key,
          value.map((one) => textOf(key, one)),
        )
      : [key, textOf(key, value as Value)],
  );
}

function textOf(key: string, value: Value): string {
  if (value === null && !key.endsWith(".is")) {
    throw new QueryError(
      key,
      `takes no null; a missing value goes with is, such as {"${key.split(".")[0]}.is": null}`,
    );
  }
  return String(value);
}

function listed({ columns }: ReadableTable, key: string, values: readonly string[]): [string, string] {
  const words = key.split(".");
  const operator = words.at(-1)!;
  const items = values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",");
  const column = Object.hasOwn(columns, words[0]!) ? columns[words[0]!]! : undefined;
  const isPath = column?.type === "jsonb" && words.length > 2;
  if ((column?.type.endsWith("[]") && OF_ARRAYS.has(operator)) || (isPath && OF_PATHS.has(operator))) {
    return [key, `{${items}}`];
  }
  const any = Object.hasOwn(ANY_OF, operator) ? ANY_OF[operator]! : undefined;
  if (any === undefined || words.length < 2) {
    throw new QueryError(key, `takes one value; a list goes with in, such as {"${words[0]}.in": ["a", "b"]}`);
  }
  return [[...words.slice(0, -1), any].join(".").replace(".not.not.", "."), `(${items})`];
}
