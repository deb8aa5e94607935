import { createHmac, timingSafeEqual } from "node:crypto";
import { isNullable, type Order } from "./parse.ts";
import { QueryError, type ReadableTable } from "./readable-table.ts";
import { fitValue } from "./values.ts";

const MAC_BYTES = 16;

/** An opaque, signed position in a table's list: the order, and its values in the last row that was read. */
export function writeCursor(
  key: Buffer,
  readable: ReadableTable,
  order: Order[],
  values: (string | null)[],
): string {
  const content = Buffer.from(JSON.stringify([signature(order), ...values])).toString("base64url");
  return `${content}.${macOf(key, readable, content)}`;
}

/** The values of a cursor, each fitted to its column. Throws QueryError on a cursor without our signature. */
export function readCursor(
  key: Buffer,
  readable: ReadableTable,
  order: Order[],
  cursor: string,
): (string | null)[] {
  const [content = "", mac = "", ...rest] = cursor.split(".", 3);
  // The texts are compared: several last characters decode to the same bytes.
  const given = Buffer.from(mac);
  const expected = Buffer.from(macOf(key, readable, content));
  if (given.length !== expected.length || !timingSafeEqual(given, expected) || rest.length > 0) {
    throw new QueryError("cursor", "this is no cursor of this list; start again with an empty one");
  }
  const [signed, ...values] = JSON.parse(Buffer.from(content, "base64url").toString()) as (string | null)[];
  if (signed !== signature(order)) throw new QueryError("cursor", "the cursor belongs to another order");
  return order.map(({ column }, index) => {
    const value = values[index] ?? null;
    // A column's type may have changed since the cursor was made.
    if (value === null && isNullable(column)) return null;
    if (value === null) throw new QueryError("cursor", "the cursor is of another version; start again");
    return fitValue("cursor", readable.columns[column]?.type ?? "text", value);
  });
}

function macOf(key: Buffer, readable: ReadableTable, content: string): string {
  const whole = createHmac("sha256", key).update(`${readable.table} ${content}`).digest();
  return whole.subarray(0, MAC_BYTES).toString("base64url");
}

function signature(order: Order[]): string {
  return order
    .map(({ column, descending, nullsFirst }) => `${descending ? "-" : ""}${column}${nullsFirst ? "^" : ""}`)
    .join(",");
}
