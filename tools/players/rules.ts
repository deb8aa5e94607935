/** The rules for a player's values, from JSON or from a file's cells. */
export const MOST_CHARACTERS = {
  player_id: 200,
  first_name: 200,
  last_name: 200,
  tier: 100,
  state: 40,
  postal_code: 20,
  language: 35,
  phone_type: 40,
} as const;
export const MOST_TAGS = 100;
export const MOST_TAG = 100;

/** Whether a calendar day can be a date of birth; `now` is in milliseconds. */
export function isBirthDate(day: string, now: number): boolean {
  return day >= "1900-01-01" && day <= new Date(now).toISOString().slice(0, 10);
}
