import { cast, type Fragment, join, quoted, raw, sql } from "#db/sql.ts";
import type { Condition, Filter } from "./conditions.ts";
import { IS } from "./operands.ts";
import { isNullable, type Order } from "./parse.ts";
import { type ColumnType, QueryError, type ReadableTable } from "./readable-table.ts";

/** The filters as one predicate; every value and every JSON key is a parameter. `true` when there are none. */
export function filtersSql(readable: ReadableTable, filters: Filter[]): Fragment {
  return joinSql(readable, filters, "and");
}

/** The column, or the expression that computes it. */
export function columnSql(readable: ReadableTable, name: string): Fragment {
  return raw(columnText(readable, name));
}

/** The columns of one row, each under its name. They are many, so their text is written at once. */
export function namedColumns(readable: ReadableTable, names: readonly string[]): Fragment {
  return raw(
    names
      .map((name) => {
        const text = columnText(readable, name);
        return readable.columns[name]!.sql ? `${text} as ${quoted(name)}` : text;
      })
      .join(", "),
  );
}

/** The columns of one row as a JSON array. */
export function columnArray(readable: ReadableTable, names: readonly string[]): Fragment {
  return raw(`json_build_array(${names.map((name) => columnText(readable, name)).join(", ")})`);
}

function columnText(readable: ReadableTable, name: string): string {
  const column = Object.hasOwn(readable.columns, name) ? readable.columns[name] : undefined;
  if (!column) throw new QueryError(name, `unknown column ${name}`);
  return column.sql ? `(${column.sql})` : quoted(name);
}

export function orderSql(readable: ReadableTable, order: Order[]): Fragment {
  return join(
    order.map(({ column, descending, nullsFirst }) => {
      const nulls = nullsFirst === descending ? "" : nullsFirst ? " nulls first" : " nulls last";
      return sql`${columnSql(readable, column)}${raw(`${descending ? " desc" : ""}${nulls}`)}`;
    }),
  );
}

/** Selects the rows after the one that holds `values`. */
export function afterSql(readable: ReadableTable, order: Order[], values: (string | null)[]): Fragment {
  const keys = order.map((one, index) => {
    const value = values[index] ?? null;
    const type = readable.columns[one.column]?.type ?? "text";
    return {
      ...one,
      key: columnSql(readable, one.column),
      at: value === null ? null : typed(value, type),
    };
  });
  const descending = keys[0]?.descending ?? false;
  // An index can start from a row comparison. A null makes the comparison false, so no null may follow.
  const comparable = keys.every(
    (key) => key.at !== null && key.descending === descending && (key.nullsFirst || !isNullable(key.column)),
  );
  if (comparable) {
    const ats = join(keys.flatMap(({ at }) => at ?? []));
    return sql`(${join(keys.map(({ key }) => key))}) ${raw(descending ? "<" : ">")} (${ats})`;
  }
  return keys.reduceRight((rest, one) => {
    const same = one.at === null ? sql`${one.key} is null` : sql`${one.key} = ${one.at}`;
    return sql`(${beyond(one)} or (${same} and ${rest}))`;
  }, sql`false`);
}

function beyond({
  key,
  at,
  descending,
  nullsFirst,
}: Order & { key: Fragment; at: Fragment | null }): Fragment {
  if (at === null) return nullsFirst ? sql`${key} is not null` : sql`false`;
  const further = sql`${key} ${raw(descending ? "<" : ">")} ${at}`;
  return nullsFirst ? further : sql`(${further} or ${key} is null)`;
}

function joinSql(readable: ReadableTable, filters: Filter[], logic: "and" | "or"): Fragment {
  if (filters.length === 0) return sql`true`;
  return join(
    filters.map((filter) => filterSql(readable, filter)),
    ` ${logic} `,
  );
}

function filterSql(readable: ReadableTable, filter: Filter): Fragment {
  const holds =
    "logic" in filter
      ? sql`(${joinSql(readable, filter.filters, filter.logic)})`
      : conditionSql(readable, filter);
  return filter.not ? sql`not (${holds})` : holds;
}

const BINARY = {
  eq: "=",
  neq: "<>",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
  like: "like",
  ilike: "ilike",
  cs: "@>",
  cd: "<@",
  ov: "&&",
};

function conditionSql(readable: ReadableTable, condition: Condition): Fragment {
  const { operator, type, value } = condition;
  if (type === "text[]" && condition.path.length > 0) return listAtPathSql(readable, condition);
  const left = targetSql(readable, condition);
  if (operator === "is") return isSql(left, condition);
  if (operator === "in") return sql`${left} = any(${typed(value, `${type}[]`)})`;
  const right = typed(value, type);
  const compared = sql`${left} ${raw(BINARY[operator])} ${right}`;
  // JSON values sort by kind: every boolean would stand above every number.
  const alike = type === "jsonb" && /^[gl]te?$/.test(operator);
  return alike
    ? sql`(case when jsonb_typeof(${left}) = jsonb_typeof(${right}) then ${compared} end)`
    : compared;
}

/** A JSON array of texts at the end of a path. */
function listAtPathSql(readable: ReadableTable, condition: Condition): Fragment {
  const { operator, value } = condition;
  const left = targetSql(readable, { ...condition, type: "jsonb" });
  const right = typed(value, "text[]");
  if (operator === "ov") return sql`jsonb_exists_any(${left}, ${right})`;
  return sql`${left} ${raw(BINARY[operator as keyof typeof BINARY])} to_jsonb(${right})`;
}

/** A boolean at the end of a JSON path is JSON, or its text. */
function isSql(left: Fragment, { path, type, value }: Condition): Fragment {
  const word = String(value);
  if (path.length === 0) return sql`${left} ${raw(IS[word]!)}`;
  if (word === "true" || word === "false") return sql`(${left} = ${typed(word, type)}) is true`;
  return sql`${left} ${raw(IS[word === "unknown" ? "null" : word]!)}`;
}

function targetSql(readable: ReadableTable, { column, path, type }: Condition): Fragment {
  const target = columnSql(readable, column);
  const [key, ...deeper] = path;
  if (key === undefined) return target;
  const arrow = raw(type === "jsonb" ? ">" : ">>");
  // Indexes on custom fields are over ->>, so a filter uses it too. Only #>> takes digits for a place in an array.
  if (deeper.length === 0 && !/^-?\d+$/.test(key)) return sql`(${target} -${arrow} ${key}::text)`;
  return sql`(${target} #${arrow} ${path}::text[])`;
}

/** The value is cast through text, because the driver would write a boolean or JSON in its own format. */
function typed(value: unknown, type: ColumnType | `${ColumnType}[]`): Fragment {
  if (type === "boolean" || type === "jsonb") return cast(value, `text::${type}`);
  if (type === "boolean[]" || type === "jsonb[]") return cast(value, `text[]::${type}`);
  return cast(value, type);
}

/** The condition that excludes hidden rows, to append to a `where`. */
export function andVisible({ visible }: ReadableTable): Fragment {
  return raw(visible === undefined ? "" : ` and (${visible})`);
}
