import { isDay, isStorable, isUuid } from "#db/text.ts";
import { readTime, type WrittenTime } from "#db/time.ts";
import { isPast } from "#runtime/operation/columns.ts";
import { isCountry, languageOf, stateOf } from "#tools/people/places.ts";
import { timeZoneOf } from "#tools/people/time-zones.ts";
import { isBirthDate, MOST_CHARACTERS, MOST_TAG, MOST_TAGS } from "#tools/players/rules.ts";
import { FREE_STATUSES, PLAYER_STATUSES } from "#tools/statuses/players.ts";
import { type DateOrder, UNCLEAR, withIsoDay } from "./dates.ts";
import { AMBIGUOUS, type DecimalSign, readNumber } from "./numbers.ts";

/** A player's field in a file. */
export interface Field {
  /** The column's type in PostgreSQL. */
  type: string;
  /** The rule for the value, as an error message ends. */
  wants: string;
  /**
   * The text in a form that PostgreSQL always accepts, or null when it does not fit. A text with two meanings is
   * refused with the reason. Not empty, trimmed.
   */
  read(text: string, file: Notation): string | Unsure | null;
}

/** How a file writes numbers and dates, and the time of reading it. */
export interface Notation {
  decimal: DecimalSign;
  dates: DateOrder;
  /** Milliseconds. */
  now: number;
}

/** The reason for reading no value, as an error message ends. */
export interface Unsure {
  unsure: string;
}

const text = (column: keyof typeof MOST_CHARACTERS): Field => ({
  type: "text",
  wants: `a text of at most ${MOST_CHARACTERS[column]} characters`,
  read: (value) => (value.length <= MOST_CHARACTERS[column] ? value : null),
});

/** A number, with or without a currency and thousands. */
export const number: Field = {
  type: "double precision",
  wants: "a number such as 1250.5 or $1,250.50",
  read: (value, { decimal }) => {
    const read = readNumber(value, decimal);
    return read === AMBIGUOUS ? { unsure: `is ambiguous: ${value} has two readings. ${SAY_DECIMAL}` } : read;
  },
};

const SAY_DECIMAL = 'Import again with decimal "," or "."';
const SAY_DATES = "Import again with date_format dmy or mdy";
const UNSURE_DATE: Unsure = { unsure: `is ambiguous: day and month could be either. ${SAY_DATES}` };

/** A day of the calendar as ISO 8601. */
export function readDay(value: string, { dates }: Notation): string | Unsure | null {
  const day = withIsoDay(value, dates);
  if (day === UNCLEAR) return UNSURE_DATE;
  return day !== null && isDay(day) ? day : null;
}

const birthDate: Field = {
  type: "date",
  wants: "a date such as 1980-12-31, from 1900 to today",
  read: (value, file) => {
    const day = readDay(value, file);
    return typeof day !== "string" || isBirthDate(day, file.now) ? day : null;
  },
};

function writtenTime(text: string, order: DateOrder): WrittenTime | typeof UNCLEAR | null {
  const day = withIsoDay(text, order);
  if (day === UNCLEAR) return UNCLEAR;
  return readTime(day ?? text);
}

/** A time as ISO 8601 in UTC; a date is its first moment, and a time without a zone is UTC. */
export const moment: Field = {
  type: "timestamptz",
  wants: "a time such as 2026-01-31T18:00:00Z, from 1900 to 2100",
  read: (given, { dates }) => {
    const time = writtenTime(given, dates);
    if (time === UNCLEAR) return UNSURE_DATE;
    return time && inCentury(`${time.clock}${time.offset ?? "Z"}`);
  },
};

function inCentury(iso: string): string | null {
  const time = new Date(iso);
  const year = time.getUTCFullYear();
  if (!(year >= 1900 && year <= 2100)) return null;
  // PostgreSQL keeps microseconds, which a Date does not.
  const finer = /\.\d{3}(\d+)/.exec(iso)?.[1] ?? "";
  return time.toISOString().replace("Z", `${finer}Z`);
}

/** Milliseconds by which the first places of the earth are ahead of UTC. */
const FARTHEST_AHEAD = 14 * 3_600_000;

const pastMoment: Field = {
  type: "timestamptz",
  wants: "a time such as 2026-01-31T18:00:00Z, from 1900 to now",
  read: (value, file) => {
    const time = moment.read(value, file);
    if (typeof time !== "string") return time;
    // Without an offset it may be a day whose midnight has come where it was written.
    const written = writtenTime(value, file.dates);
    const isLocal = written !== UNCLEAR && written?.offset === null;
    return isPast(time, isLocal ? file.now + FARTHEST_AHEAD : file.now) ? time : null;
  },
};

const timezone: Field = {
  type: "text",
  wants: "an IANA time zone such as America/New_York",
  read: timeZoneOf,
};

const tags: Field = {
  type: "text[]",
  wants: `up to ${MOST_TAGS} tags of at most ${MOST_TAG} characters, separated by ; or as a JSON array`,
  read: (value) => {
    const given = textsOf(value);
    return given === null || given.some((name) => name.length > MOST_TAG) ? null : textArray(given);
  },
};

/**
 * Texts, at most as many as a player's tags: a JSON array, or separated by semicolons, bars or commas. Null when it is
 * neither.
 */
export function textsOf(value: string): string[] | null {
  const list = value.startsWith("[") ? parsed(value) : value.split(/[;|,]/);
  if (!Array.isArray(list) || list.length > MOST_TAGS) return null;
  const names = list.map((one) => (typeof one === "string" ? one.trim() : ""));
  const given = names.filter((name) => name !== "");
  return given.every(isStorable) ? given : null;
}

/** Texts in PostgreSQL's output format of an array. */
function textArray(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** JSON text as a value, or undefined. */
export function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

const statuses: readonly string[] = PLAYER_STATUSES;

/** The fields of a player that a file may contain, besides email and phone, by column. */
export const FIELDS: Readonly<Record<string, Field>> = {
  player_id: text("player_id"),
  first_name: text("first_name"),
  last_name: text("last_name"),
  tier: text("tier"),
  adt: number,
  coin_in: number,
  lifetime_theo: number,
  status: {
    type: "text",
    wants: `one of ${FREE_STATUSES.join(", ")}`,
    read: (value) => (statuses.includes(value.toLowerCase()) ? value.toLowerCase() : null),
  },
  timezone,
  // Another cell has the country, so any text but the name of an American state is kept as it is.
  state: {
    ...text("state"),
    read: (value) => (value.length <= MOST_CHARACTERS.state ? (stateOf(value, null) ?? value) : null),
  },
  postal_code: text("postal_code"),
  country: {
    type: "text",
    wants: "an ISO 3166 code such as US",
    read: (value) => (isCountry(value) ? value.toUpperCase() : null),
  },
  birth_date: birthDate,
  language: {
    type: "text",
    wants: "a language tag (BCP 47) such as en-US",
    read: (value) => (value.length <= MOST_CHARACTERS.language ? languageOf(value) : null),
  },
  phone_type: text("phone_type"),
  last_visit_at: pastMoment,
  host_id: {
    type: "uuid",
    wants: "a uuid",
    read: (value) => (isUuid(value) ? value : null),
  },
  tags,
};
