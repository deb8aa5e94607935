import { randomBytes } from "node:crypto";
import { cast, type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type KnownValues, knownValues, knownValuesSql } from "./known-values.ts";
import { newestOnly, ofMonthOf, ofMonths } from "./months.ts";
import type { Query } from "./parse.ts";
import type { ReadableTable } from "./readable-table.ts";
import { objectWriter } from "./row-text.ts";
import {
  afterSql,
  andVisible,
  columnArray,
  columnSql,
  filtersSql,
  namedColumns,
  orderSql,
} from "./to-sql.ts";
import { fitValue } from "./values.ts";

export interface Page {
  /** JSON as PostgreSQL wrote it: an array for a list, an object for a record. */
  body: string;
  rows: number;
  /** The number of rows on all pages, exact or estimated; only on request. */
  total?: number;
  /** Only in keyset paging, and only when there are more rows. */
  nextCursor?: string;
  /** Sentences on why the list is empty. */
  warnings?: string[];
}

/** The values of a row, in the order of its columns; JSON as PostgreSQL wrote it. */
export type RowValues = unknown[];

export interface ReadOptions {
  /**
   * An index leads straight to the few rows, so the read may share a connection. A read that takes longer runs again
   * on a connection of its own.
   */
  short?: boolean;
  deadline?: number;
  /** A standby may answer, where it has what this credential has written. */
  caller?: string;
}

/** Runs one prepared statement as the reader's role, which is exempt from row-level security. */
export type ReadRows = (statement: Fragment, options?: ReadOptions) => Promise<RowValues[]>;

/** `planned` is the planner's estimate. `estimated` is exact for few rows, and the planner's estimate for many. */
export type Count = "exact" | "planned" | "estimated";

export interface Reader {
  /** Throws QueryError on a cursor that this list did not give. */
  list(
    property: string,
    readable: ReadableTable,
    query: Query,
    options?: { count?: Count | undefined },
  ): Promise<Page>;
  /** The record as JSON, or null when the property has none of that id. An id that is no uuid: QueryError. */
  get(
    property: string,
    readable: ReadableTable,
    id: string,
    select?: string[] | null,
  ): Promise<string | null>;
  /** The values of a column, of an array its items, as far as they were looked at. */
  values(property: string, readable: ReadableTable, column: string): Promise<KnownValues>;
  /** The reader of a credential, which a standby may answer. */
  of(caller: string): Reader;
}

// Below this offset, reading the skipped rows costs less than finding the page's rows twice.
const DEEP_OFFSET = 1000;
/** The most rows that an estimate counts. */
const COUNTED = 1000;
/** Common page sizes. Each has a statement of its own. */
const USUAL_LIMITS = new Set([10, 20, 25, 50, 100]);

export interface ReaderOptions {
  /** Signs the cursors. Without one they last as long as the process. */
  cursorKey?: Buffer;
  /** The tables are distributed over the nodes of a cluster. */
  isCluster?: boolean;
}

/**
 * Reads any table of one property as JSON text. It is exempt from row-level security, so each statement starts from
 * `tenantSql`; a request can only add predicates.
 */
export function reader(
  db: { read: ReadRows },
  { cursorKey = randomBytes(32), isCluster = false }: ReaderOptions = {},
): Reader {
  const pageOf = pager(db.read, { cursorKey, isCluster });
  const totalOf = counter(db.read);
  return {
    list: async (property, readable, query, { count } = {}) => {
      const after = query.cursor ? readCursor(cursorKey, readable, query.order, query.cursor) : null;
      const options = { after, short: count === undefined && isShort(query) };
      const { monthly } = readable;
      const newest = monthly && count === undefined ? newestOnly(monthly, query, after) : null;
      if (newest) {
        const page = await pageOf(property, readable, { ...query, where: [...query.where, newest] }, options);
        const isFull = query.cursor === undefined ? page.rows === query.limit : page.nextCursor !== undefined;
        if (isFull) return page;
      }
      const [page, total = 0] = await Promise.all([
        pageOf(property, readable, query, options),
        ...(count ? [totalOf(property, readable, query, count)] : []),
      ]);
      // The rows may be newer than their count.
      const least = page.rows > 0 ? query.offset + page.rows : 0;
      return count ? { ...page, total: Math.max(total, least) } : page;
    },
    get: async (property, readable, id, select = null) => {
      const fitted = fitValue("id", "uuid", id);
      const names = selected(readable, select);
      const [row] = await db.read(
        sql`select ${columnArray(readable, names)} from ${tenantSql(property, readable)}
            and "id" = ${fitted}::uuid${readable.monthly ? ofMonthOf(fitted) : NOTHING}`,
        { short: true },
      );
      return row ? objectWriter(names)(String(row[0])) : null;
    },
    values: async (property, readable, column) => {
      const name = columnSql(readable, column);
      const value = readable.columns[column]!.type.endsWith("[]") ? sql`unnest(${name})` : name;
      const rows = await db.read(knownValuesSql(value, tenantSql(property, readable)));
      return knownValues(rows.map(([known, looked]) => [known, looked]));
    },
    of: (caller) =>
      reader(
        { read: (statement, options) => db.read(statement, { ...options, caller }) },
        { cursorKey, isCluster },
      ),
  };
}

/**
 * One PostgreSQL writes a page whole, which spares the service the names. That is a query inside a query, and a cluster
 * has no short way for one: there, and where each row has its cursor's values, each row comes by itself.
 */
function pager(read: ReadRows, { cursorKey, isCluster }: Required<ReaderOptions>) {
  return async (
    property: string,
    readable: ReadableTable,
    query: Query,
    { after, short }: PageOptions,
  ): Promise<Page> => {
    const names = selected(readable, query.select);
    const pageWith = (what: Fragment) => pageSql(what, property, readable, query, { after, short });
    if (query.cursor === undefined && !isCluster) {
      const columns = namedColumns(readable, names);
      const [page] = await read(sql`select json_agg(t), count(*) from (${pageWith(columns)}) t`, { short });
      return { body: String(page![0] ?? "[]"), rows: Number(page![1]) };
    }
    const keys = join(query.order.map(({ column }) => sql`${columnSql(readable, column)}::text`));
    const values = columnArray(readable, names);
    const what = query.cursor === undefined ? values : sql`${values}, json_build_array(${keys})`;
    const found = await read(pageWith(what), { short });
    const rows = found.slice(0, query.limit);
    const written = objectWriter(names);
    const body = `[${rows.map(([row]) => written(String(row))).join(",")}]`;
    const last = found.length > query.limit ? rows.at(-1) : undefined;
    if (!last) return { body, rows: rows.length };
    const position = JSON.parse(String(last[1])) as (string | null)[];
    return { body, rows: rows.length, nextCursor: writeCursor(cursorKey, readable, query.order, position) };
  };
}

function counter(read: ReadRows) {
  const planned = async (fitting: Fragment): Promise<number> => {
    const [row] = await read(sql`explain (format json) select from ${fitting}`);
    const [explained] = JSON.parse(String(row![0])) as [Explained];
    return plannedRows(explained);
  };
  return async (property: string, readable: ReadableTable, query: Query, count: Count): Promise<number> => {
    const fitting = fittingSql(property, readable, query);
    if (count === "planned") return planned(fitting);
    const few = sql`(select from ${fitting} limit ${raw(String(COUNTED + 1))}) few`;
    const [row] = await read(sql`select count(*) from ${count === "exact" ? fitting : few}`);
    const counted = Number(row![0]);
    if (count === "exact" || counted <= COUNTED) return counted;
    return Math.max(counted, await planned(fitting));
  };
}

interface Explained {
  Plan: {
    "Plan Rows": number;
    "Distributed Query"?: { Job: { Tasks: { "Remote Plan": [[Explained]] }[] } };
  };
}

/** On a cluster the plan of the property's node stands within the coordinator's, which expects no rows. */
function plannedRows({ Plan: plan }: Explained): number {
  const remote = plan["Distributed Query"]?.Job.Tasks[0]?.["Remote Plan"];
  return remote ? plannedRows(remote[0][0]) : plan["Plan Rows"];
}

/**
 * Whether an index leads straight to the page for any values. The limit is written out, because a generic plan takes
 * a parameter for a tenth of the table.
 */
function isShort({ where, order, limit, offset }: Query): boolean {
  return (
    USUAL_LIMITS.has(limit) &&
    offset < DEEP_OFFSET &&
    (order[0]?.column === "created_at" || order[0]?.column === "id") &&
    where.every((one) => !("logic" in one) && one.operator === "eq" && !one.not && one.path.length === 0)
  );
}

const NOTHING = raw("");

/** The only place that names a tenant's table: always with its property, as the first predicate. */
function tenantSql(property: string, readable: ReadableTable): Fragment {
  return sql`${readable.from ?? identifier(readable.table)} where "property_id" = ${property}${andVisible(readable)}`;
}

function fittingSql(
  property: string,
  readable: ReadableTable,
  query: Query,
  after: (string | null)[] | null = null,
): Fragment {
  const months = readable.monthly ? ofMonths(readable.monthly, query, after) : NOTHING;
  return sql`${tenantSql(property, readable)}${months} and ${filtersSql(readable, query.where)}`;
}

interface PageOptions {
  /** The order's values in the last row, in keyset paging after the first page. */
  after: (string | null)[] | null;
  short: boolean;
}

/** The rows of a page. In keyset paging one row more than the limit shows whether there is a next page. */
function pageSql(
  what: Fragment,
  property: string,
  readable: ReadableTable,
  query: Query,
  { after, short }: PageOptions,
): Fragment {
  const fitting = fittingSql(property, readable, query, after);
  const most = query.cursor === undefined ? query.limit : query.limit + 1;
  const order = sql`order by ${orderSql(readable, query.order)}`;
  const page = sql`${order} limit ${short ? raw(String(most)) : cast(most, "int")}`;
  if (query.cursor !== undefined) {
    const following = after === null ? NOTHING : sql` and ${afterSql(readable, query.order, after)}`;
    return sql`select ${what} from ${fitting}${following} ${page}`;
  }
  if (query.offset === 0) return sql`select ${what} from ${fitting} ${page}`;
  const skipping = sql`${fitting} ${page} offset ${query.offset}::int`;
  if (query.offset < DEEP_OFFSET) return sql`select ${what} from ${skipping}`;
  return sql`select ${what} from ${tenantSql(property, readable)}
    and "id" = any(array(select "id" from ${skipping})) ${order}`;
}

/** The columns in the table's own order, to limit the number of distinct statements. */
function selected(readable: ReadableTable, select: string[] | null): string[] {
  const names = Object.keys(readable.columns);
  return select === null ? names : names.filter((name) => select.includes(name));
}
