/** What a player's columns hold, whether it comes as JSON or in the cells of a file. */
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

/** Whether it is of the form of an ISO 3166 code. */
export function isCountry(text: string): boolean {
  return /^[A-Za-z]{2}$/.test(text);
}

const zones = new Map<string, boolean>();

/** Whether it is the name of a time zone. */
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

/** Whether a day of the calendar can be one of birth; `now` is in milliseconds. */
export function isBirthDate(day: string, now: number): boolean {
  return day >= "1900-01-01" && day <= new Date(now).toISOString().slice(0, 10);
}
