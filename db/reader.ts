import { randomBytes } from "node:crypto";
import type { Database } from "./client.ts";
import { readCursor, writeCursor } from "./cursors.ts";
import type { Query } from "./filters.ts";
import { afterSql, type Bind, columnSql, filtersSql, orderSql } from "./filters-sql.ts";
import { fitValue } from "./filters-values.ts";
import type { Shape } from "./shape.ts";

export interface Page {
  /** A JSON array, as PostgreSQL wrote it. */
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
const USUAL_LIMITS = new Set([10, 20, 25, 50, 100, 200, 500, 1000]);

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
    const [{ Plan: plan }] = row!["QUERY PLAN"] as [{ Plan: { "Plan Rows": number } }];
    return plan["Plan Rows"];
  };
  return {
    list: async (property, shape, query, { count } = {}) => {
      const values: unknown[] = [property];
      const bind: Bind = (value) => `$${values.push(value)}`;
      const after = query.cursor ? readCursor(cursorKey, shape, query.order, query.cursor) : null;
      const [row] = await db.read(listSql(shape, query, { count, after }, bind), values);
      if (!row) throw new Error("an aggregate gave no row");
      const last = row.last === null || row.last === undefined ? null : String(row.last);
      const counted = Number(row.total ?? 0);
      const guessed = count === "planned" || (count === "estimated" && counted > COUNTED);
      return {
        body: String(row.body),
        rows: Number(row.rows),
        ...(count && {
          total: guessed ? Math.max(counted, await planned(property, shape, query)) : counted,
        }),
        ...(last !== null && {
          nextCursor: writeCursor(cursorKey, shape, query.order, JSON.parse(last)),
        }),
      };
    },
    get: async (property, shape, id, select = null) => {
      const [row] = await db.read(
        `select row_to_json(t)::text as body from (select ${columnsSql(shape, select)} from ${tenantSql(shape)} and "id" = $2::uuid) t`,
        [property, fitValue("id", "uuid", id)],
      );
      return row ? String(row.body) : null;
    },
  };
}

/** The one place where a tenant's table is named: only with its property, and first. */
function tenantSql(shape: Shape): string {
  return `"${shape.table}" where "property_id" = $1${shape.visible ? ` and (${shape.visible})` : ""}`;
}

function fittingSql(shape: Shape, query: Query, bind: Bind): string {
  return `${tenantSql(shape)} and ${filtersSql(shape, query.where, bind)}`;
}

interface Asked {
  count: Count | undefined;
  /** The last row's values of the order, in keyset paging behind the first page. */
  after: (string | null)[] | null;
}

function listSql(shape: Shape, query: Query, { count, after: values }: Asked, bind: Bind): string {
  const fitting = fittingSql(shape, query, bind);
  const columns = columnsSql(shape, query.select);
  const total = totalSql(fitting, count);
  if (query.cursor === undefined) {
    return `select '[' || coalesce(string_agg(row_to_json(t)::text, ','), '') || ']' as body, count(*) as rows${total}
      from (select ${columns} ${pageSql(shape, query, fitting, bind)}) t`;
  }
  // One row more than asked for tells whether there is a next page; it is not given out.
  const limit = limitSql(query, bind);
  const after = values === null ? "" : ` and ${afterSql(shape, query.order, values, bind)}`;
  const order = orderSql(shape, query.order);
  const keys = query.order.map(({ column }) => `${columnSql(shape, column)}::text`).join(", ");
  const given = selected(shape, query.select).map((name) => `p."${name}"`);
  return `select '[' || coalesce(string_agg(line, ',') filter (where place <= ${limit}), '') || ']' as body,
      count(*) filter (where place <= ${limit}) as rows,
      case when count(*) > ${limit} then max(key) filter (where place = ${limit}) end as last${total}
    from (
      select row_to_json(t)::text as line, p."cursor key" as key, row_number() over () as place
      from (select ${columns}, json_build_array(${keys})::text as "cursor key"
          from ${fitting}${after} order by ${order} limit ${limit} + 1) p
        cross join lateral (select ${given.join(", ")}) t
    ) numbered`;
}

function totalSql(fitting: string, count: Count | undefined): string {
  if (count === undefined || count === "planned") return "";
  const counted = count === "exact" ? fitting : `(select from ${fitting} limit ${COUNTED + 1}) few`;
  return `, (select count(*) from ${counted}) as total`;
}

function pageSql(shape: Shape, query: Query, fitting: string, bind: Bind): string {
  const sorted = `order by ${orderSql(shape, query.order)}`;
  const offset = query.offset === 0 ? "" : ` offset ${bind(query.offset)}::int`;
  const page = `${sorted} limit ${limitSql(query, bind)}${offset}`;
  if (query.offset < DEEP_OFFSET) return `from ${fitting} ${page}`;
  return `from ${tenantSql(shape)} and "id" = any(array(select "id" from ${fitting} ${page})) ${sorted}`;
}

/**
 * A limit that PostgreSQL can read lets it keep one plan (a list of 50 in 276 µs, not 345). With filters each
 * run is better planned for its own values, and other limits would only add distinct statements.
 */
function limitSql({ limit, where }: Query, bind: Bind): string {
  return where.length === 0 && USUAL_LIMITS.has(limit) ? String(limit) : `${bind(limit)}::int`;
}

function columnsSql(shape: Shape, select: string[] | null): string {
  return selected(shape, select)
    .map((name) => `${columnSql(shape, name)} as "${name}"`)
    .join(", ");
}

/** In the table's own order, so that the number of distinct statements stays small. */
function selected(shape: Shape, select: string[] | null): string[] {
  const names = Object.keys(shape.columns);
  return select === null ? names : names.filter((name) => select.includes(name));
}
