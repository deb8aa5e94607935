/**
 * Seconds from Retry-After, which is a number of seconds or a date; null for any other text. `now` in milliseconds.
 */
export function readRetryAfter(header: string | null | undefined, now: number): number | null {
  const given = header ?? "";
  const seconds = /^\d+$/.test(given) ? Number(given) : (Date.parse(given) - now) / 1000;
  return Number.isFinite(seconds) ? seconds : null;
}
