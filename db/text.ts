/** A UUID in lower case, as a piece of a pattern. */
export const UUID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}";

const WHOLE_UUID = new RegExp(`^${UUID}$`, "i");
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;

/** Whether the value is a UUID as text, in lower or upper case. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && WHOLE_UUID.test(value);
}

/** Whether the value is a day of the calendar as text, such as `2026-02-28`, from the year 1 on. */
export function isDay(value: unknown): value is string {
  const [, year, month, day] = (typeof value === "string" && DAY.exec(value)?.map(Number)) || [];
  if (!year || !month || !day || month > 12) return false;
  // The calendar repeats every 400 years, and Date.UTC reads years below 100 as the 1900s.
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

/** Whether PostgreSQL can store the text, also within JSON: it holds neither NUL nor a lone surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/**
 * The text as PostgreSQL can store it, cut to `most` UTF-16 units. NUL is removed, and U+FFFD replaces a lone
 * surrogate.
 */
export function storable(text: string, most = Number.POSITIVE_INFINITY): string {
  if (text.length <= most && isStorable(text)) return text;
  return text.replaceAll("\0", "").slice(0, most).toWellFormed();
}

const BACKSLASH = 92;

/** The place of the quote that ends the string of JSON text whose first quote is at `opening`. */
export function closingQuote(text: string, opening: number): number {
  let at = text.indexOf('"', opening + 1);
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at;
}

/** An odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}
