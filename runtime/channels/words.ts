/** A vendor's ids and codes are kept, and looked for, up to here. */
export const LONGEST_ID = 320;

/** A text as PostgreSQL can store it, also within JSON: no NUL, no half of a character, and no longer than `most`. */
export function storable(text: string, most = Number.POSITIVE_INFINITY): string {
  if (text.length <= most && !text.includes("\0") && text.isWellFormed()) return text;
  return text.replaceAll("\0", "").slice(0, most).toWellFormed();
}
