import { firstIdOf, type Month, monthOf, monthOfId, startOf } from "#db/partitions/month.ts";
import { type Fragment, raw } from "#db/sql.ts";
import type { Filter } from "./conditions.ts";
import type { Query } from "./parse.ts";
import type { ReadableTable } from "./readable-table.ts";

/** The longest time between created_at and a later time in the id: a transaction's length, and clocks apart. */
const BEHIND = 86_400_000;

type Monthly = NonNullable<ReadableTable["monthly"]>;
type Cursor = (string | null)[] | null;

/**
 * The condition on the id that follows from conditions on created_at and from the cursor, so that only partitions of
 * those months are read. It is written out: PostgreSQL locks every partition for a parameter.
 */
export function ofMonths(
  monthly: Monthly,
  { where, order }: Pick<Query, "where" | "order">,
  after: Cursor,
): Fragment {
  const { lag } = monthly;
  const { from, to } = timesOf(monthly, where);
  const [first] = order;
  const at = isTime(monthly, first?.column) && after ? Date.parse(String(after[0])) : Number.NaN;
  const latest = first?.descending ? Math.min(to, Number.isNaN(at) ? to : at) : to;
  const earliest = first?.descending ? from : Math.max(from, Number.isNaN(at) ? from : at);
  return between(
    Number.isFinite(earliest) ? monthOf(earliest - lag) : null,
    Number.isFinite(latest) ? monthOf(latest + BEHIND) + 1 : null,
  );
}

/** The condition on the id that keeps the other months' partitions out of the search for one record. */
export function ofMonthOf(id: string): Fragment {
  const month = monthOfId(id);
  return isUsual(month) ? between(month, month + 1) : raw("");
}

/**
 * A condition for the newest rows alone, in a list that begins with them: a page that they fill needs no other
 * partition. Null where the list does not begin with the newest, or is bounded already.
 */
export function newestOnly(monthly: Monthly, { where, order }: Query, after: Cursor): Filter | null {
  const [first] = order;
  if (!isTime(monthly, first?.column) || !first?.descending) return null;
  const { lag } = monthly;
  const { from, to } = timesOf(monthly, where);
  const at = after ? Date.parse(String(after[0])) : Number.POSITIVE_INFINITY;
  const since = monthOf(Math.min(Date.now(), to, at) - lag) - 1;
  if (!isUsual(since) || from >= startOf(since) + lag) return null;
  return {
    field: "created_at",
    column: "created_at",
    path: [],
    not: false,
    operator: "gte",
    type: "timestamptz",
    value: new Date(startOf(since) + lag).toISOString(),
  };
}

function isTime({ at }: Monthly, column: string | undefined): boolean {
  return column !== undefined && (column === "created_at" || column === at);
}

/** The times that the conditions allow, in milliseconds. */
function timesOf(monthly: Monthly, where: readonly Filter[]): { from: number; to: number } {
  let [from, to] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const one of where) {
    if ("logic" in one || one.not || !isTime(monthly, one.column)) continue;
    const time = Date.parse(String(one.value));
    if (Number.isNaN(time)) continue;
    if (one.operator === "gt" || one.operator === "gte" || one.operator === "eq") from = Math.max(from, time);
    if (one.operator === "lt" || one.operator === "lte" || one.operator === "eq") to = Math.min(to, time);
  }
  return { from, to };
}

function between(from: Month | null, to: Month | null): Fragment {
  const lower = from === null || !isUsual(from) ? "" : ` and "id" >= '${firstIdOf(from)}'`;
  const upper = to === null || !isUsual(to) ? "" : ` and "id" < '${firstIdOf(to)}'`;
  return raw(lower + upper);
}

/** Each month has statements of its own, so a caller's strange times must not make one each. */
function isUsual(month: Month): boolean {
  return month > monthOf(0) && month < monthOf(Date.now()) + 1_200;
}
