import { randomBytes } from "node:crypto";
import { cast, type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type KnownValues, knownValues, knownValuesSql } from "./known-values.ts";
import { newestOnly, ofMonthOf, ofMonths } from "./months.ts";
import type { Query } from "./parse.ts";
import type { ReadableTable } from "./readable-table.ts";
import { objectText } from "./row-text.ts";
import { afterSql, andVisible, columnSql, filtersSql, orderSql } from "./to-sql.ts";
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

/**
 * Reads any table of one property as JSON text, in one statement. It is exempt from row-level security, so each
 * statement starts from `tenantSql`; a request can only add predicates. `cursorKey` signs the cursors; without one
 * they last as long as the process.
 */
export function reader(db: { read: ReadRows }, cursorKey = randomBytes(32)): Reader {
  const planned = async (property: string, readable: ReadableTable, query: Query): Promise<number> => {
    const [row] = await db.read(
      sql`explain (format json) select from ${fittingSql(property, readable, query)}`,
    );
    const [explained] = JSON.parse(String(row![0])) as [Explained];
    return plannedRows(explained);
  };
  return {
    list: async (property, readable, query, { count } = {}) => {
      const after = query.cursor ? readCursor(cursorKey, readable, query.order, query.cursor) : null;
      const short = count === undefined && isShort(query);
      const pageOf = async (asked: Query): Promise<Page> => {
        const [row] = await db.read(listSql(property, readable, asked, { count, after, short }), { short });
        if (!row) throw new Error("an aggregate gave no row");
        const [body, rows, last, total] = row;
        const counted = Number(total ?? 0);
        const guessed = count === "planned" || (count === "estimated" && counted > COUNTED);
        return {
          body: String(body ?? "[]"),
          rows: Number(rows),
          ...(count && {
            total: guessed ? Math.max(counted, await planned(property, readable, query)) : counted,
          }),
          ...(typeof last === "string" && {
            nextCursor: writeCursor(cursorKey, readable, query.order, JSON.parse(last)),
          }),
        };
      };
      const { monthly } = readable;
      const newest = monthly && count === undefined ? newestOnly(monthly, query, after) : null;
      if (newest) {
        const page = await pageOf({ ...query, where: [...query.where, newest] });
        const isFull = query.cursor === undefined ? page.rows === query.limit : page.nextCursor !== undefined;
        if (isFull) return page;
      }
      return pageOf(query);
    },
    get: async (property, readable, id, select = null) => {
      const fitted = fitValue("id", "uuid", id);
      const names = selected(readable, select);
      const [row] = await db.read(
        sql`select json_build_array(${join(names.map((name) => columnSql(readable, name)))})
          from ${tenantSql(property, readable)}
            and "id" = ${fitted}::uuid${readable.monthly ? ofMonthOf(fitted) : NOTHING}`,
        { short: true },
      );
      return row ? objectText(names, String(row[0])) : null;
    },
    values: async (property, readable, column) => {
      const name = columnSql(readable, column);
      const value = readable.columns[column]!.type.endsWith("[]") ? sql`unnest(${name})` : name;
      const rows = await db.read(knownValuesSql(value, tenantSql(property, readable)));
      return knownValues(rows.map(([known, looked]) => [known, looked]));
    },
    of: (caller) =>
      reader({ read: (statement, options) => db.read(statement, { ...options, caller }) }, cursorKey),
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

interface ListOptions {
  count: Count | undefined;
  /** The order's values in the last row, in keyset paging after the first page. */
  after: (string | null)[] | null;
  short: boolean;
}

/** Answers the page, its row count, and on request the last row's cursor values and the total. */
function listSql(
  property: string,
  readable: ReadableTable,
  query: Query,
  { count, after: values, short }: ListOptions,
): Fragment {
  const fitting = fittingSql(property, readable, query);
  const following = fittingSql(property, readable, query, values);
  const columns = columnsSql(readable, query.select);
  const total = totalSql(fitting, count);
  const limit = short ? raw(String(query.limit)) : cast(query.limit, "int");
  if (query.cursor === undefined) {
    return sql`select json_agg(t), count(*), null${total}
      from (select ${columns} ${pageSql(property, readable, query, fitting, limit)}) t`;
  }
  // One row more than the limit shows whether there is a next page; it is not answered.
  const after = values === null ? raw("") : sql` and ${afterSql(readable, query.order, values)}`;
  const order = orderSql(readable, query.order);
  const keys = join(query.order.map(({ column }) => sql`${columnSql(readable, column)}::text`));
  const given = join(selected(readable, query.select).map((name) => sql`p.${identifier(name)}`));
  return sql`select json_agg(t) filter (where row_no <= ${limit}), count(*) filter (where row_no <= ${limit}),
      case when count(*) > ${limit} then max(key) filter (where row_no = ${limit}) end${total}
    from (
      select t, p."cursor key" as key, row_number() over () as row_no
      from (select ${columns}, json_build_array(${keys})::text as "cursor key"
          from ${following}${after} order by ${order} limit ${limit} + 1) p
        cross join lateral (select ${given}) t
    ) numbered`;
}

function totalSql(fitting: Fragment, count: Count | undefined): Fragment {
  if (count === undefined || count === "planned") return raw("");
  const counted =
    count === "exact" ? fitting : sql`(select from ${fitting} limit ${raw(String(COUNTED + 1))}) few`;
  return sql`, (select count(*) from ${counted})`;
}

function pageSql(
  property: string,
  readable: ReadableTable,
  query: Query,
  fitting: Fragment,
  limit: Fragment,
): Fragment {
  const sorted = sql`order by ${orderSql(readable, query.order)}`;
  const offset = query.offset === 0 ? raw("") : sql` offset ${query.offset}::int`;
  const page = sql`${sorted} limit ${limit}${offset}`;
  if (query.offset < DEEP_OFFSET) return sql`from ${fitting} ${page}`;
  return sql`from ${tenantSql(property, readable)} and "id" = any(array(select "id" from ${fitting} ${page})) ${sorted}`;
}

function columnsSql(readable: ReadableTable, select: string[] | null): Fragment {
  return join(
    selected(readable, select).map((name) =>
      readable.columns[name]?.sql
        ? sql`${columnSql(readable, name)} as ${identifier(name)}`
        : identifier(name),
    ),
  );
}

/** The columns in the table's own order, to limit the number of distinct statements. */
function selected(readable: ReadableTable, select: string[] | null): string[] {
  const names = Object.keys(readable.columns);
  return select === null ? names : names.filter((name) => select.includes(name));
}
