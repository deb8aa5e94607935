import { didYouMean } from "#db/nearest.ts";
import { isDay, isStorable, isUuid } from "#db/text.ts";
import { readTime } from "#db/time.ts";
import { type ColumnType, QueryError, type ReadableTable } from "./readable-table.ts";

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const INTEGER = /^[+-]?\d{1,40}$/;
const BIGINT_LIMIT = 2n ** 63n;
const JSON_DEPTH = 64;

const EXPECTED: Record<ColumnType, string> = {
  uuid: "a uuid",
  text: "text",
  "double precision": "a finite number",
  bigint: "a 64-bit integer",
  boolean: "true or false",
  timestamptz: "an ISO 8601 time such as 2026-01-31T18:00:00Z",
  date: "a date such as 2026-01-31",
  jsonb: 'JSON (a text stands in quotes: "gold")',
  "text[]": 'a list such as {a,"b c"}',
  "uuid[]": "a list of uuids such as {…,…}",
};

/** The value as PostgreSQL's text form of the type, so that its own cast cannot fail. Throws QueryError. */
export function fitValue(field: string, type: ColumnType, text: string): string {
  const fitted = FIT[type](text);
  if (fitted === null) throw new QueryError(field, `${quote(text)} is not ${EXPECTED[type]}`);
  return fitted;
}

/** Refuses NUL and lone surrogates, which PostgreSQL cannot store. */
export function assertText(field: string, text: string): void {
  if (!isStorable(text)) throw new QueryError(field, "the text holds NUL or is not valid Unicode");
}

/** A text of callers or players in quotes on one line, shortened for a message. */
export function quote(text: string): string {
  const json = JSON.stringify(text.length > 60 ? `${text.slice(0, 60).toWellFormed()}…` : text);
  return json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/** The refusal of a column that the table does not have. */
export function unknownColumn({ columns }: ReadableTable, name: string): string {
  const known = Object.keys(columns);
  return `unknown column ${quote(name)}${didYouMean(name, known) || `; there are ${known.join(", ")}`}`;
}

const never = () => null;

const FIT: Record<ColumnType, (text: string) => string | null> = {
  uuid: (text) => (isUuid(text) ? text : null),
  text: (text) => text,
  "double precision": (text) => {
    const number = NUMBER.test(text) ? Number(text) : Number.NaN;
    return Number.isFinite(number) ? String(number) : null;
  },
  bigint: (text) => {
    if (!INTEGER.test(text)) return null;
    const integer = BigInt(text.replace(/^\+/, ""));
    return integer >= -BIGINT_LIMIT && integer < BIGINT_LIMIT ? String(integer) : null;
  },
  boolean: (text) => (/^(?:true|false)$/i.test(text) ? text.toLowerCase() : null),
  timestamptz: fitTime,
  date: (text) => (isDay(text) ? text : null),
  jsonb: fitJson,
  "text[]": never,
  "uuid[]": never,
};

/** A time without an offset is in UTC. A raw "+" of one reaches us as a space, since a query string reads "+" so. */
function fitTime(text: string): string | null {
  const read = readTime(text.replace(/^(.{16,}) (\d{2}(?::?\d{2})?)$/, "$1+$2"));
  return read && `${read.clock}${read.offset === null || read.offset === "Z" ? "+00:00" : read.offset}`;
}

function fitJson(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return isStorableJson(value, 0) ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
}

function isStorableJson(value: unknown, depth: number): boolean {
  if (typeof value === "string") return isStorable(value);
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth === JSON_DEPTH) return false;
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorableJson(inner, depth + 1));
}
