import { cast, type Fragment, sql } from "#db/sql.ts";
import { isDay, isUuid } from "#db/text.ts";
import { readTime } from "#db/time.ts";
import { type Fault, invalid } from "#runtime/faults.ts";
import type { Field } from "./field.ts";
import type { RuleScope } from "./rule-scope.ts";

/** The position of a condition: its property, and its path in the caller's rules. */
export interface Position {
  scope: RuleScope;
  path: string;
  /** The fault that names the condition's value, or a `part` of it. */
  wrong(message: string, part?: string): Fault;
}

export function positionAt(scope: RuleScope, path: string): Position {
  return {
    scope,
    path,
    wrong: (message, part = "") => invalid(`${path}.value${part}`, message),
  };
}

const MAX_TEXT = 1_000;
const MAX_LIST = 1_000;
const MAX_DAYS = 36_500;

/** The SQL of one value of the field's type, checked and bound. */
export function scalar(field: Field, value: unknown, at: Position): Fragment {
  const checked = plain(field, value, at.wrong);
  const read = field.type === "timestamp" ? readTime(String(checked)) : null;
  if (read?.offset === null) return sql`(${read.clock}::timestamp at time zone ${at.scope.zone})`;
  return cast(checked, field.cast);
}

/** The SQL of "the field is equal to the value", in the form in which the field's values are stored. */
export function equals(field: Field, value: unknown, at: Position): Fragment {
  const [one, ...others] = stored(field, value, at.scope, at.wrong);
  if (others.length === 0) return sql`${field.sql} = ${scalar(field, one, at)}`;
  return sql`${field.sql} = any(${cast([one, ...others], `${field.cast}[]`)})`;
}

/** The SQL of an array of such values. */
export function list(field: Field, value: unknown, at: Position): Fragment {
  const items = array(value, at).flatMap((item, index) => {
    const wrong = (message: string) => at.wrong(message, `[${index}]`);
    return stored(field, item, at.scope, wrong).map((one) => plain(field, one, wrong));
  });
  return cast(items, `${field.cast}[]`);
}

/** The stored values that mean the same as this one. */
function stored({ form }: Field, value: unknown, { home }: RuleScope, wrong: Wrong): unknown[] {
  if (!form || typeof value !== "string") return [value];
  const text = form.fit(value, home);
  if (text === null) throw wrong(`must be ${form.wants}`);
  return form.same?.(text) ?? [text];
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
export function days(value: unknown, at: Position, field?: Field): Fragment {
  if (value === 0 && field?.type === "timestamp") {
    throw at.wrong("must be at least 1: no time lies in the last 0 days; on_day finds those of a day");
  }
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > MAX_DAYS) {
    throw at.wrong(`must be a whole number of days from 0 to ${MAX_DAYS}`);
  }
  return cast(value, "int");
}

/** A calendar day. */
export function day(value: unknown, at: Position): Fragment {
  return cast(date(value, at.wrong), "date");
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

/** In one form; without an offset by the property's clock. */
function instant(value: unknown, wrong: Wrong): string {
  const read = typeof value === "string" ? readTime(value) : null;
  if (read) return `${read.clock}${read.offset ?? ""}`;
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
  if (field.type !== "timestamp")
    return Buffer.compare(Buffer.from(String(low)), Buffer.from(String(high))) > 0;
  const [first, last] = [readTime(String(low)), readTime(String(high))];
  if (!first || !last) return false;
  if (first.offset === null && last.offset === null) return first.clock > last.clock;
  // Of a local time and an instant, which comes first depends on the property's time zone.
  if (first.offset === null || last.offset === null) return false;
  return Date.parse(first.clock + first.offset) > Date.parse(last.clock + last.offset);
}
