import { type Fragment, raw, sql } from "#db/sql.ts";
import { quote } from "./values.ts";

/** The most values of a column that are named, and the rows in which they are looked for. */
const MOST_VALUES = 30;
const LOOKED_AT = 20_000;

export interface KnownValues {
  /** In their order. */
  values: string[];
  /** Whether no row has another value. Otherwise there are more rows, or more values, than were looked at. */
  complete: boolean;
}

/** A statement over the values of `value`. It reads only part of the rows of `from`, so it answers at once. */
export function knownValuesSql(value: Fragment, from: Fragment): Fragment {
  return sql`
    with looked as materialized (select ${value} as value from ${from} limit ${raw(String(LOOKED_AT))})
    select distinct value::text as value, (select count(*)::int from looked) as looked
    from looked where value is not null order by value limit ${raw(String(MOST_VALUES + 1))}`;
}

/** The answer of such a statement. */
export function knownValues(rows: readonly (readonly [value: unknown, looked: unknown])[]): KnownValues {
  const complete = rows.length <= MOST_VALUES && Number(rows[0]?.[1] ?? 0) < LOOKED_AT;
  return { values: rows.slice(0, MOST_VALUES).map(([value]) => String(value)), complete };
}

/** The sentence about a value that matches nothing and is not among the known ones. */
export function nothingHas(column: string, value: string, { values, complete }: KnownValues): string {
  const there = values.map(quote).join(", ");
  if (!complete) return `${column}: nothing fits ${quote(value)}; there are ${there || "other values"}, …`;
  return `${column}: nothing here has ${quote(value)}; ${there ? `there are ${there}` : "none has a value"}.`;
}
