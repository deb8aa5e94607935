import { z } from "zod";
import type { Form } from "#db/query/readable-table.ts";
import { isDay } from "#db/text.ts";
import { readTime } from "#db/time.ts";
import { Fault, type FaultDetail, invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { bareOrQuoted } from "#runtime/visible-text.ts";

/** The types of a custom field, each with the rule for its values, in words. */
export const CUSTOM_TYPES = {
  text: "a text of 1 to 2000 characters",
  number: "a number",
  boolean: "true or false",
  date: "a date such as 2026-05-31",
  datetime: "a time with its zone, such as 2026-05-31T18:00:00Z",
  enum: "one of the field's enum_values",
  text_list: "an array of at most 100 texts of 1 to 200 characters",
} as const;
export type CustomType = keyof typeof CUSTOM_TYPES;

export interface CustomField {
  key: string;
  label: string;
  type: CustomType;
  enum_values: string[];
  /** An archived field: its values stay and can be removed, but not added. */
  archived: boolean;
}

/** A property's own fields by key, in the order of their keys. */
export type CustomFields = ReadonlyMap<string, CustomField>;

type FieldsOwner = Pick<Context, "sql"> & { property: Pick<Context["property"], "id"> };

const MOST_BYTES = 16 * 1024;
const SHOWN = 60;

export async function customFields({ sql, property }: FieldsOwner): Promise<CustomFields> {
  const rows = await sql<CustomField[]>`
    select key, label, type, enum_values, archived_at is not null as archived from custom_fields
    where property_id = ${property.id} order by key`;
  return new Map(rows.map((row) => [row.key, row]));
}

/** The fields, locked against changes to the end of the caller's transaction. */
export async function sharedCustomFields(context: FieldsOwner): Promise<CustomFields> {
  // An advisory lock, no row lock: a row lock would make every write of a player write to these rows.
  await context.sql`select pg_advisory_xact_lock_shared(${lockKey(context)})`;
  return customFields(context);
}

/** Waits for transactions that write values, and keeps others out to the end of the caller's transaction. */
export async function lockCustomFields(context: FieldsOwner): Promise<void> {
  await context.sql`select pg_advisory_xact_lock(${lockKey(context)})`;
}

function lockKey({ sql, property }: FieldsOwner) {
  return sql`hashtextextended(${`custom_fields ${property.id}`}, 0)`;
}

/**
 * A player's custom values after applying the given ones: null removes a key, absent keys stay. Throws `invalid` naming
 * each unknown key and each wrong value.
 */
export function mergedCustom(
  fields: CustomFields,
  given: Record<string, unknown>,
  current: Record<string, unknown> = {},
): Record<string, unknown> {
  const merged = new Map(Object.entries(current));
  const details: FaultDetail[] = [];
  for (const [key, value] of Object.entries(given)) {
    const fitted = fitCustom(fields, key, value);
    if ("wrong" in fitted) details.push({ field: `custom.${shown(key)}`, message: fitted.wrong });
    else if (fitted.value === null) merged.delete(key);
    else merged.set(key, fitted.value);
  }
  if (details.length > 0) {
    const words = details.slice(0, 5).map(({ field, message }) => `${field}: ${message}`);
    throw new Fault("invalid", { message: words.join("; "), details });
  }
  const custom = Object.fromEntries(merged);
  if (Buffer.byteLength(JSON.stringify(custom)) > MOST_BYTES) {
    throw invalid("custom", `is larger than ${MOST_BYTES} bytes`);
  }
  return custom;
}

/** The value in its stored form, or its error. Null removes a value, also of an archived field. */
export function fitCustom(
  fields: CustomFields,
  key: string,
  value: unknown,
): { value: unknown } | { wrong: string } {
  const field = fields.get(key);
  if (!field) return { wrong: unknownField(fields) };
  if (value === null) return { value };
  if (field.archived) return { wrong: "is an archived field, which takes no new values" };
  const fitted = FIT[field.type](value, field);
  if (fitted !== undefined) return { value: fitted };
  const text = JSON.stringify(value);
  return { wrong: `must be ${wanted(field)}, not ${shown(text)}` };
}

/** The rule for the field's values, in words. */
export function wanted({ type, enum_values: values }: Pick<CustomField, "type" | "enum_values">): string {
  return type === "enum" ? `one of ${values.map(bareOrQuoted).join(", ")}` : CUSTOM_TYPES[type];
}

const PLAIN_NUMBER = /^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,30})?$/;

/** How each type of value is compared as text: as it is stored. Texts are stored as they are written. */
const FORMS: Partial<Record<CustomType, (text: string) => string | null>> = {
  number: (text) => (PLAIN_NUMBER.test(text) ? String(Number(text)) : null),
  boolean: (text) => (/^(?:true|false)$/i.test(text) ? text.toLowerCase() : null),
  date: (text) => (isDay(text) ? text : null),
  datetime: (text) => {
    const read = readTime(text);
    return read && new Date(`${read.clock}${read.offset ?? "Z"}`).toISOString();
  },
};

/** How filters compare values of the field. */
export function storedForm({
  type,
  enum_values: values,
}: Pick<CustomField, "type" | "enum_values">): Form | undefined {
  const wants = wanted({ type, enum_values: values });
  if (type === "enum" && values.length > 0) {
    const inAnyCase = new Map(values.toReversed().map((value) => [value.toLowerCase(), value]));
    return {
      wants,
      fit: (text) => (values.includes(text) ? text : (inAnyCase.get(text.toLowerCase()) ?? null)),
    };
  }
  const fit = FORMS[type];
  return fit && { fit, wants };
}

/** The same, from a record of custom_fields. */
export function formOfField(record: Record<string, unknown>): Form | undefined {
  return storedForm({ type: record.type as CustomType, enum_values: record.enum_values as string[] });
}

/** The error for a key that no field has. */
export function unknownField(fields: CustomFields): string {
  return noneOf([...fields.values()].filter(({ archived }) => !archived).map(({ key }) => key));
}

/** As `unknownField`, from the key and the records of custom_fields. */
export function unknownKey(key: string, fields: Record<string, unknown>[]): string {
  const known = fields
    .filter(({ archived_at: archived }) => archived === null)
    .map((field) => `${field.key}`);
  return `custom.${shown(key)} ${noneOf(known)}`;
}

function noneOf(known: string[]): string {
  const there = known.length > 0 ? `there are ${known.slice(0, 50).join(", ")}` : "there are none yet";
  return `is not a custom field of this property (${there}); create_custom_field creates one`;
}

const text = z.string().trim().min(1).max(2000);
const texts = z.array(z.string().trim().min(1).max(200)).max(100);
const instant = timestamp();

/** Each gives the stored form; undefined for a wrong value. */
const FIT: Record<CustomType, (value: unknown, field: CustomField) => unknown> = {
  text: (value) => text.safeParse(value).data,
  number: (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined),
  boolean: (value) => (typeof value === "boolean" ? value : undefined),
  date: (value) => z.iso.date().safeParse(value).data,
  datetime: (value) => {
    const time = instant.safeParse(value).data;
    // One form in UTC, so that times also sort as texts.
    return time === undefined ? undefined : new Date(time).toISOString();
  },
  enum: (value, { enum_values: values }) => values.find((one) => one === value),
  text_list: (value) => texts.safeParse(value).data,
};

function shown(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN).toWellFormed()}…` : text;
}
