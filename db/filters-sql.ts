import type { Condition, Filter } from "./filters-conditions.ts";
import { IS } from "./filters-operands.ts";
import { isNullable, type Order } from "./filters-order.ts";
import { type ColumnType, QueryError, type Shape } from "./shape.ts";

/** Adds a parameter to the statement and gives its `$n`. */
export type Bind = (value: string | string[] | number) => string;

/** The filters as one predicate; every value and every JSON key is a parameter. `true` when there are none. */
export function filtersSql(shape: Shape, filters: Filter[], bind: Bind): string {
  return joinSql(shape, filters, "and", bind);
}

/** The column, or the expression that computes it. */
export function columnSql(shape: Shape, name: string): string {
  const column = Object.hasOwn(shape.columns, name) ? shape.columns[name] : undefined;
  if (!column) throw new QueryError(name, `unknown column ${name}`);
  return column.sql ? `(${column.sql})` : `"${name}"`;
}

export function orderSql(shape: Shape, order: Order[]): string {
  return order
    .map(({ column, descending, nullsFirst }) => {
      const nulls = nullsFirst === descending ? "" : nullsFirst ? " nulls first" : " nulls last";
      return `${columnSql(shape, column)}${descending ? " desc" : ""}${nulls}`;
    })
    .join(", ");
}

/** The rows that come after the one that holds `values`. */
export function afterSql(shape: Shape, order: Order[], values: (string | null)[], bind: Bind): string {
  const keys = order.map((one, index) => {
    const value = values[index] ?? null;
    const type = shape.columns[one.column]?.type ?? "text";
    return {
      ...one,
      sql: columnSql(shape, one.column),
      at: value === null ? null : cast(bind(value), type),
    };
  });
  const descending = keys[0]?.descending ?? false;
  // A row comparison is what an index can start from. It never holds for a null, so no null may follow.
  const comparable = keys.every(
    (key) => key.at !== null && key.descending === descending && (key.nullsFirst || !isNullable(key.column)),
  );
  if (comparable) {
    const [columns, ats] = [keys.map(({ sql }) => sql), keys.map(({ at }) => at)];
    return `(${columns.join(", ")}) ${descending ? "<" : ">"} (${ats.join(", ")})`;
  }
  return keys.reduceRight((rest, key) => {
    const same = key.at === null ? `${key.sql} is null` : `${key.sql} = ${key.at}`;
    return `(${beyond(key)} or (${same} and ${rest}))`;
  }, "false");
}

function beyond({ sql, at, descending, nullsFirst }: Order & { sql: string; at: string | null }): string {
  if (at === null) return nullsFirst ? `${sql} is not null` : "false";
  const further = `${sql} ${descending ? "<" : ">"} ${at}`;
  return nullsFirst ? further : `(${further} or ${sql} is null)`;
}

function joinSql(shape: Shape, filters: Filter[], logic: "and" | "or", bind: Bind): string {
  return filters.map((filter) => filterSql(shape, filter, bind)).join(` ${logic} `) || "true";
}

function filterSql(shape: Shape, filter: Filter, bind: Bind): string {
  const sql =
    "logic" in filter
      ? `(${joinSql(shape, filter.filters, filter.logic, bind)})`
      : conditionSql(shape, filter, bind);
  return filter.not ? `not (${sql})` : sql;
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

function conditionSql(shape: Shape, condition: Condition, bind: Bind): string {
  const { operator, type, value } = condition;
  const left = targetSql(shape, condition, bind);
  if (operator === "is") return `${left} ${IS[String(value)]}`;
  if (operator === "in") return `${left} = any(${cast(bind(value), `${type}[]`)})`;
  const compared = `${left} ${BINARY[operator]} `;
  const right = cast(bind(value), type);
  // JSON of different kinds has an order of its own, which would put every boolean above every number.
  const alike = type === "jsonb" && /^[gl]te?$/.test(operator);
  return alike
    ? `(case when jsonb_typeof(${left}) = jsonb_typeof(${right}) then ${compared}${right} end)`
    : compared + right;
}

function targetSql(shape: Shape, { column, path, type }: Condition, bind: Bind): string {
  const sql = columnSql(shape, column);
  const [key, ...deeper] = path;
  if (key === undefined) return sql;
  const arrow = type === "jsonb" ? ">" : ">>";
  // An index on a custom field is over ->>, which takes no index into a JSON array from a text.
  if (deeper.length === 0 && !/^-?\d+$/.test(key)) return `(${sql} -${arrow} ${bind(key)}::text)`;
  return `(${sql} #${arrow} ${bind(path)}::text[])`;
}

/** Through text, where the driver would write a boolean or JSON in its own way. */
function cast(parameter: string, type: ColumnType | `${ColumnType}[]`): string {
  if (type === "boolean" || type === "jsonb") return `${parameter}::text::${type}`;
  if (type === "boolean[]" || type === "jsonb[]") return `${parameter}::text[]::${type}`;
  return `${parameter}::${type}`;
}
