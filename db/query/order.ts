import { QueryError, type ReadableTable } from "./readable-table.ts";
import { quote, unknownColumn } from "./values.ts";

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
