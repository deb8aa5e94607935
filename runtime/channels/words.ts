/** A vendor's ids and codes are kept, and looked for, up to here. */
export const LONGEST_ID = 320;

/** A text as PostgreSQL can store it, also within JSON: no NUL, no half of a character, and no longer than that. */
export function storable(text: string, most: number): string {
  return text.replaceAll("\0", "").slice(0, most).toWellFormed();
}
