import { randomBytes } from "node:crypto";
import type { Database } from "./client.ts";
import { readCursor, writeCursor } from "./cursors.ts";
import type { Query } from "./filters.ts";
import { afterSql, type Bind, columnSql, filtersSql, orderSql } from "./filters-sql.ts";
import { fitValue } from "./filters-values.ts";
import { andVisible, type Shape } from "./shape.ts";

export interface Page {
  /** JSON as PostgreSQL wrote it: of a list an array, of one record an object. */
  body: string;
  rows: number;
  /** How many rows fit the filters on all pages, or about that many; only when asked for. */
  total?: number;
  /** Only in keyset paging, and only when there are more rows. */
  nextCursor?: string;
}

/** `planned` is the planner's guess. `estimated` is exact for few rows, and the guess for many. */
export type Count = "exact" | "planned" | "estimated";

export interface Reader {
  /** Throws QueryError on a cursor that this list did not give. */
  list(property: string, shape: Shape, query: Query, options?: { count?: Count | undefined }): Promise<Page>;
  /** The record as JSON, or null when the property has none of that id. An id that is no uuid: QueryError. */
  get(property: string, shape: Shape, id: string, select?: string[] | null): Promise<string | null>;
}

// Below it, reading the rows on the way costs less than finding them twice.
const DEEP_OFFSET = 1000;
/** The most rows that an estimate counts. */
const COUNTED = 1000;
/** Of pages that are read by the thousand. Each is a statement of its own. */
const USUAL_LIMITS = new Set([10, 20, 25, 50, 100]);

/**
 * Reads any table of one property, as JSON text, in one statement. It is exempt from row-level security, so
 * each statement starts from `tenantSql`, and a request can add predicates to it but never take it away.
 * `cursorKey` signs the cursors; without one they last as long as the process.
 */
export function reader(db: Pick<Database, "read">, cursorKey = randomBytes(32)): Reader {
  const planned = async (property: string, shape: Shape, query: Query): Promise<number> => {
    const values: unknown[] = [property];
    const bind: Bind = (value) => `$${values.push(value)}`;
    const [row] = await db.read(
      `explain (format json) select from ${fittingSql(shape, query, bind)}`,
      values,
    );
    const [{ Plan: plan }] = JSON.parse(String(row![0])) as [{ Plan: { "Plan Rows": number } }];
    return plan["Plan Rows"];
  };
  return {
    list: async (property, shape, query, { count } = {}) => {
      const values: unknown[] = [property];
      const bind: Bind = (value) => `$${values.push(value)}`;
      const after = query.cursor ? readCursor(cursorKey, shape, query.order, query.cursor) : null;
      const short = count === undefined && isShort(query);
      const statement = listSql(shape, query, { count, after, short }, bind);
      const [row] = await db.read(statement, values, { short });
      if (!row) throw new Error("an aggregate gave no row");
      const [body, rows, last, total] = row;
      const counted = Number(total ?? 0);
      const guessed = count === "planned" || (count === "estimated" && counted > COUNTED);
      return {
        body: String(body ?? "[]"),
        rows: Number(rows),
        ...(count && {
          total: guessed ? Math.max(counted, await planned(property, shape, query)) : counted,
        }),
        ...(typeof last === "string" && {
          nextCursor: writeCursor(cursorKey, shape, query.order, JSON.parse(last)),
        }),
      };
    },
    get: async (property, shape, id, select = null) => {
      const [row] = await db.read(
        `select row_to_json(t) from (select ${columnsSql(shape, select)} from ${tenantSql(shape)} and "id" = $2::uuid) t`,
        [property, fitValue("id", "uuid", id)],
        { short: true },
      );
      return row ? String(row[0]) : null;
    },
  };
}

/**
 * Whether an index leads straight to the page, whatever the values are. Its limit is written out, because a plan
 * for any values takes a parameter for a tenth of the table.
 */
function isShort({ where, order, limit, offset }: Query): boolean {
  return (
    USUAL_LIMITS.has(limit) &&
    offset < DEEP_OFFSET &&
    (order[0]?.column === "created_at" || order[0]?.column === "id") &&
    where.every((one) => !("logic" in one) && one.operator === "eq" && !one.not && one.path.length === 0)
  );
}

/** The one place where a tenant's table is named: only with its property, and first. */
function tenantSql(shape: Shape): string {
  return `"${shape.table}" where "property_id" = $1${andVisible(shape)}`;
}

function fittingSql(shape: Shape, query: Query, bind: Bind): string {
  return `${tenantSql(shape)} and ${filtersSql(shape, query.where, bind)}`;
}

interface Asked {
  count: Count | undefined;
  /** The last row's values of the order, in keyset paging behind the first page. */
  after: (string | null)[] | null;
  short: boolean;
}

/** Gives the page, its rows, and where asked for the last row's place and the total. */
function listSql(shape: Shape, query: Query, { count, after: values, short }: Asked, bind: Bind): string {
  const fitting = fittingSql(shape, query, bind);
  const columns = columnsSql(shape, query.select);
  const total = totalSql(fitting, count);
  const limit = short ? String(query.limit) : `${bind(query.limit)}::int`;
  if (query.cursor === undefined) {
    return `select json_agg(t), count(*), null${total}
      from (select ${columns} ${pageSql(shape, query, fitting, limit, bind)}) t`;
  }
  // One row more than asked for tells whether there is a next page; it is not given out.
  const after = values === null ? "" : ` and ${afterSql(shape, query.order, values, bind)}`;
  const order = orderSql(shape, query.order);
  const keys = query.order.map(({ column }) => `${columnSql(shape, column)}::text`).join(", ");
  const given = selected(shape, query.select).map((name) => `p."${name}"`);
  return `select json_agg(t) filter (where place <= ${limit}), count(*) filter (where place <= ${limit}),
      case when count(*) > ${limit} then max(key) filter (where place = ${limit}) end${total}
    from (
      select t, p."cursor key" as key, row_number() over () as place
      from (select ${columns}, json_build_array(${keys})::text as "cursor key"
          from ${fitting}${after} order by ${order} limit ${limit} + 1) p
        cross join lateral (select ${given.join(", ")}) t
    ) numbered`;
}

function totalSql(fitting: string, count: Count | undefined): string {
  if (count === undefined || count === "planned") return "";
  const counted = count === "exact" ? fitting : `(select from ${fitting} limit ${COUNTED + 1}) few`;
  return `, (select count(*) from ${counted})`;
}

function pageSql(shape: Shape, query: Query, fitting: string, limit: string, bind: Bind): string {
  const sorted = `order by ${orderSql(shape, query.order)}`;
  const offset = query.offset === 0 ? "" : ` offset ${bind(query.offset)}::int`;
  const page = `${sorted} limit ${limit}${offset}`;
  if (query.offset < DEEP_OFFSET) return `from ${fitting} ${page}`;
  return `from ${tenantSql(shape)} and "id" = any(array(select "id" from ${fitting} ${page})) ${sorted}`;
}

function columnsSql(shape: Shape, select: string[] | null): string {
  return selected(shape, select)
    .map((name) => (shape.columns[name]?.sql ? `${columnSql(shape, name)} as "${name}"` : `"${name}"`))
    .join(", ");
}

/** In the table's own order, so that the number of distinct statements stays small. */
function selected(shape: Shape, select: string[] | null): string[] {
  const names = Object.keys(shape.columns);
  return select === null ? names : names.filter((name) => select.includes(name));
}
