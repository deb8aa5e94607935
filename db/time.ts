import { isDay } from "./text.ts";

/** A time as somebody wrote it. */
export interface WrittenTime {
  /** Such as `2026-01-31T18:00:00.25`; of a date its midnight. */
  clock: string;
  /** Such as `-05:00` or `Z`; null when none is written. */
  offset: string | null;
}

const EXTENDED =
  /^(\d{4}-\d{2}-\d{2})(?:(?:[T ]|\s*,?\s+)(\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;
const BASIC = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{2}(?::?\d{2})?)?$/i;
const FARTHEST = "15";
const FIRST = Date.parse("0001-01-01T00:00:00Z");
/** The last second that ISO 8601 writes with four digits of a year, in milliseconds. */
export const LAST_SECOND = Date.parse("9999-12-31T23:59:59Z");
/** PostgreSQL keeps microseconds. More digits would be rounded, at worst into the next year. */
const FRACTION_DIGITS = 6;

/**
 * Reads ISO 8601 in its usual forms. `T`, `t` or a space stands between date and time; seconds may be missing. The
 * offset is `Z`, `-05`, `-0500` or `-05:00`. A date alone and the form without separators are read too. Null for all
 * else, and for a time before the year 1 or after 9999 in UTC: ISO 8601 has no usual form for it.
 */
export function readTime(text: string): WrittenTime | null {
  const spelled = text
    .trim()
    .replace(BASIC, (_, year, month, day, hour, minute, second = "00", zone = "") => {
      return `${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`;
    });
  const [, day = "", minutes = "00:00", seconds = "00", fraction, zone] = EXTENDED.exec(spelled) ?? [];
  if (!isDay(day) || minutes > "23:59" || minutes.slice(3) > "59" || seconds > "59") return null;
  const offset = zone === undefined ? null : offsetOf(zone);
  if (zone !== undefined && offset === null) return null;
  const second = `${day}T${minutes}:${seconds}`;
  if (offset !== null && !hasUsualForm(`${second}${offset}`)) return null;
  return {
    clock: fraction === undefined ? second : `${second}.${fraction.slice(0, FRACTION_DIGITS)}`,
    offset,
  };
}

function hasUsualForm(instant: string): boolean {
  return Date.parse(instant) >= FIRST && Date.parse(instant) <= LAST_SECOND;
}

function offsetOf(zone: string): string | null {
  if (zone.toUpperCase() === "Z") return "Z";
  const digits = zone.slice(1).replace(":", "").padEnd(4, "0");
  const [hours, minutes] = [digits.slice(0, 2), digits.slice(2)];
  return hours > FARTHEST || minutes > "59" ? null : `${zone[0]}${hours}:${minutes}`;
}
