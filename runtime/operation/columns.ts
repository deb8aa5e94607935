import { z } from "zod";
import { formOfValues } from "#db/query/forms.ts";
import type { ColumnType, Form, ReadableTable } from "#db/query/readable-table.ts";
import { type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { isDay } from "#db/text.ts";
import { readTime } from "#db/time.ts";
import type { Change, Column, ColumnRules, Columns, NextOf, SchemasOf, Table } from "./table.ts";

type Wrapper = z.ZodOptional | z.ZodNullable | z.ZodDefault | z.ZodPrefault;

/** Whether the schema only adds a value to another one: nothing, null or a default. */
export const isWrapped = (schema: z.ZodType): schema is Wrapper =>
  schema instanceof z.ZodOptional ||
  schema instanceof z.ZodNullable ||
  schema instanceof z.ZodDefault ||
  schema instanceof z.ZodPrefault;

type Schema = z.ZodType;
export type WriteRules = Omit<ColumnRules, "sql">;
type ReadRules = Omit<ColumnRules, "while" | "checks">;

/** A column that callers write at creation and later. */
export const writable = <S extends Schema>(
  schema: S,
  rules?: WriteRules,
): Column<S, "always", "answered"> => ({ ...rules, schema, write: "always", read: "answered" });
/** A column that callers write at creation only. */
export const createOnly = <S extends Schema>(
  schema: S,
  rules?: WriteRules,
): Column<S, "create", "answered"> => ({ ...rules, schema, write: "create", read: "answered" });
/** A column that callers write and never read; it is stored sealed. */
export const writeOnly = <S extends Schema>(schema: S): Column<S, "always", "sealed"> => ({
  schema,
  write: "always",
  read: "sealed",
});
/** A column that callers write at creation, and that only the service reads. */
export const hidden = <S extends Schema>(schema: S): Column<S, "create", "internal"> => ({
  schema,
  write: "create",
  read: "internal",
});
/** A column that the service writes, or that `sql` computes. */
export const readable = <S extends Schema>(schema: S, rules?: ReadRules): Column<S, "never", "answered"> => ({
  ...rules,
  schema,
  write: "never",
  read: "answered",
});
/** A column that only the service writes and reads. */
export const internal = <S extends Schema>(schema: S): Column<S, "never", "internal"> => ({
  schema,
  write: "never",
  read: "internal",
});

const ZONED = /^\d{4}-?\d{2}-?\d{2}[T ,].*(?:Z|[+-]\d{2}(?::?\d{2})?)$/i;
const LOCAL = /^\d{4}-?\d{2}-?\d{2}[T ,].*$/i;
const NO_TIME = "must be a time that the calendar has, such as 2026-01-31T18:00:00-05:00";

// Zod's own pattern knows one form alone.
const zoned = { offset: true, pattern: ZONED, abort: true };
const local = { offset: true, pattern: LOCAL, abort: true, error: localWords };

/** A time with its offset, in any usual form of ISO 8601. It is kept as `2026-01-31T18:00:00-05:00`. */
export const timestamp = () =>
  z.iso
    .datetime(zoned)
    .overwrite(isoText)
    .refine((text) => readTime(text)?.offset != null, { error: NO_TIME, abort: true });

/** The same, or a time without an offset, which goes by the property's own clock. */
export const localTime = () =>
  z.iso
    .datetime(local)
    .overwrite(isoText)
    .refine((text) => readTime(text) !== null, { error: NO_TIME, abort: true });

function localWords({ code, input }: { code: string; input?: unknown }): string | undefined {
  if (code !== "invalid_format") return undefined;
  return typeof input === "string" && isDay(input)
    ? `is a date without a time: write such as ${input}T10:00, by the property's clock`
    : NO_TIME;
}

function isoText(text: string): string {
  const read = readTime(text);
  return read ? `${read.clock}${read.offset ?? ""}` : text;
}

const EARLIEST = Date.UTC(1900, 0, 1);
/** Milliseconds by which this machine's clock may be behind the caller's. */
const SKEW = 300_000;

/** A time in the past, from 1900. Stricter decisions use the database's clock. */
export const pastTime = () =>
  timestamp().refine((text) => isPast(text, Date.now()), "must be from 1900 to now");

/** Whether an ISO time lies between 1900 and `now`, in milliseconds, give or take what clocks differ. */
export function isPast(text: string, now: number): boolean {
  return Date.parse(text) >= EARLIEST && Date.parse(text) <= now + SKEW;
}

/** An IP address of either kind. */
export const ipAddress = () => z.union([z.ipv4(), z.ipv6()], "must be an IP address, such as 203.0.113.9");

const FIRST = { id: readable(z.uuid(), { concise: true }), property_id: readable(z.uuid()) };
const LAST = {
  created_at: readable(timestamp(), { concise: true }),
  updated_at: readable(timestamp()),
};

/** All answered columns of a table, including those of every record. */
export function columnsOf({ columns }: Pick<Table, "columns">): Columns {
  const answered = Object.entries(columns).filter(([, { read }]) => read === "answered");
  return withBase(Object.fromEntries(answered));
}

/** A table's own column of such a name keeps its rules and its position. */
function withBase(columns: Columns): Columns {
  const last = Object.entries(LAST).filter(([name]) => !Object.hasOwn(columns, name));
  return { ...FIRST, ...columns, ...Object.fromEntries(last) };
}

/** The columns whose values are stored sealed. */
export function sealedColumns(table: Table): string[] {
  const hidden = Object.keys(table.columns).filter((name) => table.columns[name]!.read === "sealed");
  return [...hidden, ...Object.keys(table.secrets)];
}

const selectLists = new WeakMap<Columns, Fragment>();
const storedLists = new WeakMap<Columns, Fragment>();

/** The answered columns as a select list, computed ones with their expression. All of it is text from our own code. */
export function columnNames(table: Pick<Table, "columns">): Fragment {
  let list = selectLists.get(table.columns);
  if (list === undefined) {
    list = selectList(columnsOf(table));
    selectLists.set(table.columns, list);
  }
  return list;
}

/** As `columnNames`, with the internal and the sealed columns: rows are `StoredOf` these columns. */
export function storedNames(columns: Columns): Fragment {
  let list = storedLists.get(columns);
  if (list === undefined) {
    list = selectList(withBase(columns));
    storedLists.set(columns, list);
  }
  return list;
}

function selectList(columns: Columns): Fragment {
  return join(
    Object.entries(columns).map(([name, { sql: expression }]) =>
      expression ? sql`${raw(expression)} as ${identifier(name)}` : identifier(name),
    ),
  );
}

/** The columns in a list for agents that choose none. Undefined: the table marks no column. */
export function conciseColumns(table: Pick<Table, "columns">): string[] | undefined {
  if (!Object.values(table.columns).some(({ concise }) => concise)) return undefined;
  return Object.entries(columnsOf(table)).flatMap(([name, { concise }]) => (concise ? [name] : []));
}

/** Columns of every record; the caller already knows the property. */
const BOOKKEEPING = new Set(["property_id", "updated_at"]);

/** The columns that a list shows people and agents that choose none. */
export function listedColumns(table: Table): string[] {
  return (
    conciseColumns(table) ?? Object.keys(readableOf(table).columns).filter((name) => !BOOKKEEPING.has(name))
  );
}

/** The values that a copy of a record has in common with it. */
export function copied(columns: Columns, row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => columns[name]?.copied));
}

/** A record, or part of one, as events carry it. */
export function forEvents(columns: Columns, row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !columns[name]?.omitFromEvents));
}

/** Whether the input has a column that requires this check. */
export function isChecked(columns: Columns, input: object, check: string): boolean {
  return Object.keys(input).some((name) => columns[name]?.checks?.includes(check));
}

/** The record as the change would leave it. */
export function afterChange<C extends Columns>(columns: C, { input, current }: Change<C>): NextOf<C> {
  const given = Object.keys(columns).filter((name) => columns[name]!.write !== "never");
  const absent = Object.fromEntries(given.map((name) => [name, null]));
  return { ...absent, ...current, ...input } as NextOf<C>;
}

const readables = new WeakMap<Table, ReadableTable>();

/** The part of a table that the generic reader may read. */
export function readableOf(table: Table): ReadableTable {
  let readable = readables.get(table);
  if (!readable) {
    const columns = Object.entries(columnsOf(table)).map(([name, column]) => {
      const form = column.form ?? formOf(column.schema);
      return [
        name,
        {
          type: columnType(column.schema),
          ...(form && { form }),
          ...(column.keys && { keys: column.keys }),
          ...(column.sql && { sql: column.sql }),
        },
      ];
    });
    readable = {
      table: table.name,
      columns: Object.fromEntries(columns),
      ...(table.monthly && { monthly: table.monthly }),
      ...(table.softDelete && { visible: "deleted_at is null" }),
    };
    readables.set(table, readable);
  }
  return readable;
}

/** The form of the values of an enum, or of a list of them: one of them, in any case. Undefined: other texts are values too. */
function formOf(schema: z.ZodType): Form | undefined {
  if (isWrapped(schema)) return formOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return formOf(schema.element as z.ZodType);
  if (schema instanceof z.ZodEnum) return formOfValues(schema.options.map(String));
  return schema instanceof z.ZodLiteral ? formOfValues([...schema.values].map(String)) : undefined;
}

const viewed = new WeakMap<z.ZodType, Pick<Table, "columns">>();

/** The record as it is answered. */
export function viewOf(table: Pick<Table, "columns">): z.ZodObject {
  const view = z.object(
    Object.fromEntries(Object.entries(columnsOf(table)).map(([name, { schema }]) => [name, schema])),
  );
  viewed.set(view, table);
  return view;
}

/** The fields of an operation's answer that are records, each with its table's columns. */
export function recordsWithin(output: z.ZodType): [field: string, table: Pick<Table, "columns">][] {
  if (!(output instanceof z.ZodObject)) return [];
  const found = new Map<string, Pick<Table, "columns">>();
  for (const [field, schema] of Object.entries(output.shape as Record<string, z.ZodType>)) {
    let inner = schema;
    while (isWrapped(inner)) inner = inner.unwrap() as z.ZodType;
    const table = viewed.get(inner);
    if (table) found.set(field, table);
  }
  return [...found];
}

/** The columns that a caller may write. */
export function inputOf<C extends Columns>(table: Table<C>, verb: "create"): SchemasOf<C>;
export function inputOf(table: Table, verb: "update"): Record<string, z.ZodType>;
export function inputOf(table: Table, verb: "create" | "update"): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(table.columns)
      .filter(([, { write }]) => write === "always" || (write === "create" && verb === "create"))
      .map(([name, { schema }]) => [name, verb === "create" ? schema : partial(schema)]),
  );
}

/** Optional, and without its default: an update changes only the fields that it names. */
function partial(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (isWrapped(inner) && !(inner instanceof z.ZodNullable)) inner = inner.unwrap() as z.ZodType;
  const optional = inner.optional();
  // A description belongs to its own schema, and unwrapping loses it.
  return schema.description ? optional.describe(schema.description) : optional;
}

/** The column type that a schema stands for, for filters and casts. */
function columnType(schema: z.ZodType): ColumnType {
  if (isWrapped(schema)) return columnType(schema.unwrap() as z.ZodType);
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
