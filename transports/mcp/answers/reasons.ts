const MOST_REASONS = 6;

/** Counts in words behind a label, the largest first; an empty text where there are none. */
export function reasons(label: string, counts: unknown): string {
  if (typeof counts !== "object" || counts === null) return "";
  const all = Object.entries(counts).sort(([, a], [, b]) => Number(b) - Number(a));
  if (all.length === 0) return "";
  const shown = all.slice(0, MOST_REASONS).map(([reason, count]) => `${reason} ${count}`);
  return `${label}: ${shown.join(", ")}${all.length > MOST_REASONS ? ", …" : ""}`;
}
