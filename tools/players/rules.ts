/** The rules for a player's values, from JSON or from a file's cells. */
export const MOST_CHARACTERS = {
  player_id: 200,
  first_name: 200,
  last_name: 200,
  tier: 100,
  timezone: 64,
  state: 40,
  postal_code: 20,
  language: 35,
  phone_type: 40,
} as const;
export const MOST_TAGS = 100;
export const MOST_TAG = 100;

const zones = new Map<string, boolean>();

/** Whether the text names a time zone. */
export function isTimeZone(name: string): boolean {
  let known = zones.get(name);
  if (known === undefined) {
    known = /^[A-Za-z]/.test(name) && hasZone(name);
    if (zones.size < 1000) zones.set(name, known);
  }
  return known;
}

function hasZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Whether a calendar day can be a date of birth; `now` is in milliseconds. */
export function isBirthDate(day: string, now: number): boolean {
  return day >= "1900-01-01" && day <= new Date(now).toISOString().slice(0, 10);
}
