import { conditionsOf, type Filter, parseCondition, parseGroup } from "./conditions.ts";
import { QueryError, type ReadableTable } from "./readable-table.ts";
import { assertText, quote, unknownColumn } from "./values.ts";

export interface Query {
  /** Null for every column. */
  select: string[] | null;
  /** All of them hold. */
  where: Filter[];
  /** The last column is the id. */
  order: Order[];
  limit: number;
  offset: number;
  /** For keyset paging: empty on the first page, then the previous page's cursor. */
  cursor?: string;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;
const MAX_OFFSET = 2 ** 31 - 1;
const MAX_CONDITIONS = 100;

/** Query keys that are not filters. */
export const OPTIONS: ReadonlySet<string> = new Set(["select", "order", "limit", "offset", "cursor"]);

/**
 * Reads a query against the readable, from pairs of a key and its value or values. Filters are read in the specification's form
 * (`tier.not.eq=gold`, `custom.vip.eq=true`) and in PostgREST's (`tier=not.eq.gold`, `custom->>vip=eq.true`,
 * `or=(a.eq.1,b.is.null)`); an empty `cursor` starts keyset paging. `home` is the property's country. Throws
 * QueryError, naming the key.
 */
export function parseQuery(
  readable: ReadableTable,
  pairs: Iterable<[string, Value | readonly Value[]]>,
  home = "US",
): Query {
  const where: Filter[] = [];
  const options = new Map<string, string>();
  const read = (key: string, value: string) => {
    assertText(key.toWellFormed().replaceAll("\0", "?"), key + value);
    if (OPTIONS.has(key)) {
      if (options.has(key)) throw new QueryError(key, "is given twice");
      options.set(key, value);
    } else {
      where.push(
        GROUPS.has(key) ? parseGroup(readable, key, value, home) : parseCondition(readable, key, value, home),
      );
    }
  };
  for (const [key, values] of pairs) {
    for (const value of [values].flat()) read(key, String(value));
  }
  if (where.flatMap(conditionsOf).length > MAX_CONDITIONS) {
    throw new QueryError("filters", `a query has ${MAX_CONDITIONS} conditions at most`);
  }
  const cursor = options.get("cursor");
  if (cursor !== undefined && options.has("offset")) {
    throw new QueryError("cursor", "a page starts at a cursor or at an offset, not both");
  }
  return {
    select: parseSelect(readable, options.get("select") ?? "*"),
    where,
    order: parseOrder(readable, options.get("order") ?? NEWEST_FIRST),
    limit: parseCount("limit", options.get("limit"), DEFAULT_LIMIT, MAX_LIMIT),
    offset: parseCount("offset", options.get("offset"), 0, MAX_OFFSET),
    ...(cursor !== undefined && { cursor }),
  };
}

type Value = string | number;

const GROUPS = new Set(["or", "and", "not.or", "not.and"]);

/** Reads `id,email`; null stands for `*`, every column. */
export function parseSelect(readable: ReadableTable, text: string): string[] | null {
  const names = text.split(",").map((name) => name.trim());
  for (const name of names) {
    if (name !== "*" && !Object.hasOwn(readable.columns, name)) {
      throw new QueryError("select", unknownColumn(readable, name));
    }
  }
  return names.includes("*") ? null : names;
}

function parseCount(key: string, text: string | undefined, fallback: number, most: number): number {
  if (text === undefined) return fallback;
  if (!/^\d{1,10}$/.test(text) || Number(text) > most) {
    throw new QueryError(key, `is an integer from 0 to ${most}, not ${quote(text)}`);
  }
  return Number(text);
}

export interface Order {
  column: string;
  descending: boolean;
  nullsFirst: boolean;
}

// Every record has these, so a nulls clause would only stop an index from serving the order.
const NEVER_NULL = new Set(["id", "property_id", "created_at", "updated_at"]);
const UNORDERED = new Set(["jsonb", "text[]", "uuid[]"]);
const DIRECTION = /^(?:asc|desc|nullsfirst|nullslast|(?:asc|desc)\.nulls(?:first|last))$/;

/** Newest first: the ids are time-ordered, and the created index of a table runs both ways. */
export const NEWEST_FIRST = "created_at.desc";

/**
 * Reads `adt.desc.nullslast,email`. By default nulls come last ascending and first descending. The id always ends the
 * order, so that pages neither repeat nor skip a row.
 */
export function parseOrder(readable: ReadableTable, text: string): Order[] {
  const order: Order[] = [];
  for (const part of text.split(",")) {
    const one = parseKey(readable, part.trim());
    if (order.some(({ column }) => column === one.column)) {
      throw new QueryError("order", `${one.column} is named twice`);
    }
    order.push(one);
    if (one.column === "id") return order;
  }
  const descending = order.at(-1)?.descending ?? false;
  return [...order, { column: "id", descending, nullsFirst: descending }];
}

/** Whether the column can be null. */
export function isNullable(column: string): boolean {
  return !NEVER_NULL.has(column);
}

function parseKey(readable: ReadableTable, text: string): Order {
  const dot = text.indexOf(".");
  const column = dot < 0 ? text : text.slice(0, dot);
  const direction = dot < 0 ? "asc" : text.slice(dot + 1).toLowerCase();
  const type = Object.hasOwn(readable.columns, column) ? readable.columns[column]?.type : undefined;
  if (!type) throw new QueryError("order", unknownColumn(readable, column));
  if (UNORDERED.has(type)) throw new QueryError("order", `${column} is ${type}, which has no order`);
  if (!DIRECTION.test(direction)) {
    throw new QueryError(
      "order",
      `unknown direction ${quote(direction)}; it is asc or desc, and then nullsfirst or nullslast`,
    );
  }
  const descending = direction.startsWith("desc");
  const placed = NEVER_NULL.has(column) ? undefined : /nulls(first|last)$/.exec(direction)?.[1];
  return {
    column,
    descending,
    nullsFirst: placed ? placed === "first" : descending,
  };
}
