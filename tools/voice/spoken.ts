const MOST_CHARACTERS = 2_000;

/**
 * A text as a voice says it: one line of plain words. Markup would be read as commands by some vendors, so none of its
 * characters stay, whether an author or a player's data brought them.
 */
export function spokenText(text: string): string {
  return text
    .toWellFormed()
    .normalize("NFKC")
    .replace(/[<>{}[\]\\|`^~]/g, " ")
    .replace(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, MOST_CHARACTERS);
}

const MOST_VALUE = 80;

/** A player's values as a call may say them: short, so that no name holds a speech of its own. */
export function spokenValues(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, shortened(value)]));
}

function shortened(value: unknown): unknown {
  if (typeof value === "string") return spokenText(value).slice(0, MOST_VALUE).toWellFormed();
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return spokenValues(value as Record<string, unknown>);
}
