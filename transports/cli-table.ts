const WIDEST = 40;

/** A result for people: rows as a table, one record as lines. */
export function asTable(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "(none)" : rows(value as Record<string, unknown>[]);
  if (typeof value !== "object" || value === null) return String(value);
  const entries = Object.entries(value);
  const only = entries.length === 1 ? entries[0]![1] : null;
  if (Array.isArray(only) && only.every((one) => typeof one === "object")) return asTable(only);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, one]) => `${name.padEnd(width)}  ${lines(one, width)}`).join("\n");
}

function lines(value: unknown, indent: number): string {
  const nested = Array.isArray(value) && value.length > 0 && typeof value[0] === "object";
  if (!nested) return cell(value);
  return `\n${asTable(value)}`.replaceAll("\n", `\n${" ".repeat(Math.min(indent, 2))}`);
}

function rows(list: Record<string, unknown>[]): string {
  const names = Object.keys(list[0] ?? {}).filter((name) => list.some((row) => cell(row[name]) !== ""));
  const cells = list.map((row) => names.map((name) => short(cell(row[name]))));
  const widths = names.map((name, index) => Math.max(name.length, ...cells.map((row) => row[index]!.length)));
  const line = (row: string[]) =>
    row
      .map((text, index) => text.padEnd(widths[index]!))
      .join("  ")
      .trimEnd();
  return [line(names), line(widths.map((width) => "─".repeat(width))), ...cells.map(line)].join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.length === 0) return "";
  if (typeof value !== "object") return String(value).replaceAll(/\s+/g, " ");
  const text = Array.isArray(value) ? value.map(cell).join(", ") : JSON.stringify(value);
  return text === "{}" ? "" : text;
}

function short(text: string): string {
  return text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
}
