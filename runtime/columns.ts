import { z } from "zod";
import type { ColumnType, Shape } from "#db/shape.ts";
import type { Column, Table } from "./operation.ts";

/** A column that callers write at creation and later. */
export const writable = (schema: z.ZodType): Column => ({ schema, write: "always" });
/** A column that callers write at creation only. */
export const createOnly = (schema: z.ZodType): Column => ({ schema, write: "create" });
/** A column that callers write and nobody reads. */
export const writeOnly = (schema: z.ZodType): Column => ({ schema, write: "always", secret: true });
/** A column that the service writes; `sql` computes it from the table's own columns. */
export const readable = (schema: z.ZodType, sql?: string): Column => ({
  schema,
  write: "never",
  ...(sql && { sql }),
});

export const timestamp = () => z.iso.datetime({ offset: true });

const EARLIEST = Date.UTC(1900, 0, 1);
const DAY = 86_400_000;

/**
 * A time at which something has happened: from 1900, and no later than a day ahead of this machine's clock. Whatever
 * decides by it asks the database's clock beside that.
 */
export const pastTime = () =>
  timestamp().refine((text) => isPast(text, Date.now()), "must be from 1900 to now");

/** Whether an ISO time is such a one; `now` is in milliseconds. */
export function isPast(text: string, now: number): boolean {
  return Date.parse(text) >= EARLIEST && Date.parse(text) <= now + DAY;
}

/** An IP address of either kind. */
export const ipAddress = () => z.union([z.ipv4(), z.ipv6()], "must be an IP address, such as 203.0.113.9");

const FIRST = { id: readable(z.uuid()), property_id: readable(z.uuid()) };
const LAST = {
  created_at: readable(timestamp()),
  updated_at: readable(timestamp()),
};

/** All columns of a table that can be read, with those that every record has. */
export function columnsOf(table: Table): Record<string, Column> {
  const shown = Object.entries(table.columns).filter(([, { secret }]) => !secret);
  return { ...FIRST, ...Object.fromEntries(shown), ...LAST };
}

/** The columns whose values are stored sealed. */
export function sealedColumns(table: Table): string[] {
  const hidden = Object.keys(table.columns).filter((name) => table.columns[name]!.secret);
  return [...hidden, ...Object.keys(table.secrets)];
}

const selectLists = new WeakMap<Table, string>();

/** The columns as a select list, computed ones with their expression. All of it is text from our own code. */
export function columnNames(table: Table): string {
  let list = selectLists.get(table);
  if (list === undefined) {
    list = Object.entries(columnsOf(table))
      .map(([name, { sql }]) => (sql ? `${sql} as "${name}"` : `"${name}"`))
      .join(", ");
    selectLists.set(table, list);
  }
  return list;
}

const shapes = new WeakMap<Table, Shape>();

/** What the generic reader may read of a table. */
export function shapeOf(table: Table): Shape {
  let shape = shapes.get(table);
  if (!shape) {
    const columns = Object.entries(columnsOf(table)).map(([name, column]) => [
      name,
      { type: columnType(column.schema), ...(column.sql && { sql: column.sql }) },
    ]);
    shape = {
      table: table.name,
      columns: Object.fromEntries(columns),
      ...(table.softDelete && { visible: "deleted_at is null" }),
    };
    shapes.set(table, shape);
  }
  return shape;
}

/** The record as it is answered. */
export function viewOf(table: Table): z.ZodObject {
  return z.object(
    Object.fromEntries(Object.entries(columnsOf(table)).map(([name, { schema }]) => [name, schema])),
  );
}

/** The columns that a caller may write. */
export function inputOf(table: Table, verb: "create" | "update"): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(table.columns)
      .filter(([, { write }]) => write === "always" || (write === "create" && verb === "create"))
      .map(([name, { schema }]) => [name, verb === "create" ? schema : partial(schema)]),
  );
}

/** Optional, and without its default: an update changes only what it names. */
function partial(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodOptional) inner = inner.unwrap() as z.ZodType;
  const optional = inner.optional();
  // A description belongs to the schema that it was given to, and does not survive unwrapping.
  return schema.description ? optional.describe(schema.description) : optional;
}

/** The column type that a schema stands for, for filters and casts. */
export function columnType(schema: z.ZodType): ColumnType {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return columnType(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodPipe) return columnType(schema.in as z.ZodType);
  if (schema instanceof z.ZodUUID) return "uuid";
  if (schema instanceof z.ZodISODateTime) return "timestamptz";
  if (schema instanceof z.ZodISODate) return "date";
  if (schema instanceof z.ZodBoolean) return "boolean";
  if (schema instanceof z.ZodNumber) return schema.format?.includes("int") ? "bigint" : "double precision";
  if (schema instanceof z.ZodArray) {
    const element = columnType(schema.element as z.ZodType);
    return element === "uuid" ? "uuid[]" : element === "text" ? "text[]" : "jsonb";
  }
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord || schema instanceof z.ZodUnknown) {
    return "jsonb";
  }
  return "text";
}
