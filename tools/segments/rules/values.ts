import { cast, type Fragment, sql } from "#db/sql.ts";
import { isDay, isUuid } from "#db/text.ts";
import { type Fault, invalid } from "#runtime/faults.ts";
import type { Field } from "./field.ts";
import type { Scope } from "./scope.ts";

/** The position of a condition: its property, and its path in the caller's rules. */
export interface Position {
  scope: Scope;
  path: string;
  /** The fault that names the condition's value, or a `part` of it. */
  wrong(message: string, part?: string): Fault;
}

export function positionAt(scope: Scope, path: string): Position {
  return {
    scope,
    path,
    wrong: (message, part = "") => invalid(`${path}.value${part}`, message),
  };
}

const MAX_TEXT = 1_000;
const MAX_LIST = 1_000;
const MAX_DAYS = 36_500;

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;

/** The SQL of one value of the field's type, checked and bound. */
export function scalar(field: Field, value: unknown, at: Position): Fragment {
  if (field.type === "timestamp" && isDay(value)) return startOfDay(value, at);
  return cast(plain(field, value, at.wrong), field.cast);
}

/** The SQL of an array of values of the field's type. */
export function list(field: Field, value: unknown, at: Position): Fragment {
  const items = array(value, at).map((item, index) =>
    plain(field, item, (message) => at.wrong(message, `[${index}]`)),
  );
  return cast(items, `${field.cast}[]`);
}

/** The SQL of the two ends of a range. */
export function pair(field: Field, value: unknown, at: Position): [Fragment, Fragment] {
  if (!Array.isArray(value) || value.length !== 2) throw at.wrong("must be [low, high]");
  const [low, high] = value as [unknown, unknown];
  const end = (value: unknown, index: number) =>
    scalar(field, value, {
      ...at,
      wrong: (message) => at.wrong(message, `[${index}]`),
    });
  const ends: [Fragment, Fragment] = [end(low, 0), end(high, 1)];
  if (reversed(field, low, high)) throw at.wrong("must be [low, high] with low first");
  return ends;
}

/** An array of texts, such as tags. */
export function texts(value: unknown, at: Position): Fragment {
  const items = array(value, at).map((item, index) =>
    text(item, (message) => at.wrong(message, `[${index}]`)),
  );
  return cast(items, "text[]");
}

/** A text with content: an empty text would match every player that has a value. */
export function someText(value: unknown, at: Position): string {
  const checked = text(value, at.wrong);
  if (checked === "") throw at.wrong("must not be empty");
  return checked;
}

/** A number of whole days. */
export function days(value: unknown, at: Position): Fragment {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > MAX_DAYS) {
    throw at.wrong(`must be a whole number of days from 0 to ${MAX_DAYS}`);
  }
  return cast(value, "int");
}

/** A calendar day. */
export function day(value: unknown, at: Position): Fragment {
  return cast(date(value, at.wrong), "date");
}

function startOfDay(value: string, { scope }: Position): Fragment {
  return sql`(${value}::date::timestamp at time zone ${scope.zone})`;
}

type Wrong = (message: string) => Fault;

function plain(field: Field, value: unknown, wrong: Wrong): string | number | boolean {
  switch (field.type) {
    case "number":
      if (typeof value !== "number" || !Number.isFinite(value)) throw wrong("must be a number");
      return value;
    case "boolean":
      if (typeof value !== "boolean") throw wrong("must be true or false");
      return value;
    case "uuid":
      if (!isUuid(value)) throw wrong("must be a uuid");
      return value;
    case "date":
      return date(value, wrong);
    case "timestamp":
      return instant(value, wrong);
    default:
      return text(value, wrong);
  }
}

function text(value: unknown, wrong: Wrong): string {
  if (typeof value !== "string") throw wrong("must be a text");
  if (value.length > MAX_TEXT) throw wrong(`must have at most ${MAX_TEXT} characters`);
  if (value.includes("\0")) throw wrong("must not hold a NUL character");
  if (!value.isWellFormed()) throw wrong("must be valid Unicode");
  return value;
}

function date(value: unknown, wrong: Wrong): string {
  if (!isDay(value)) throw wrong("must be a date such as 2026-05-31");
  return value;
}

function instant(value: unknown, wrong: Wrong): string {
  if (typeof value === "string" && isDay(value.slice(0, 10)) && value[10] === "T") {
    if (TIME.test(value.slice(11))) return value;
  }
  throw wrong("must be a date such as 2026-05-31 or a time such as 2026-05-31T18:00:00Z");
}

function array(value: unknown, at: Position): unknown[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_LIST) {
    throw at.wrong(`must be an array of 1 to ${MAX_LIST} values`);
  }
  return value;
}

/** Whether PostgreSQL would sort the low end behind the high one. */
function reversed(field: Field, low: unknown, high: unknown): boolean {
  if (typeof low === "number" && typeof high === "number") return low > high;
  const [first, last] = [String(low), String(high)];
  // A date beside a time is left alone: which comes first depends on the property's time zone.
  if (field.type === "timestamp" && first.length > 10 && last.length > 10) {
    return Date.parse(first) > Date.parse(last);
  }
  return field.type === "timestamp" && first.length !== last.length
    ? false
    : Buffer.compare(Buffer.from(first), Buffer.from(last)) > 0;
}
