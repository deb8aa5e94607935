import terminalWidth from "fast-string-truncated-width";

const WIDEST = 40;
const NARROWEST = 6;
const INLINE = 80;
const GAP = 2;
/** Says what is wrong and what to do: nothing of it is cut. */
const WHOLE = "message";
const LETTERS = new Intl.Segmenter();
/** What a terminal obeys instead of showing it, or shows the rest of the line backwards for. */
const ORDERS = /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

export interface Paper {
  /** Characters in a line of the terminal; without it lines may be of any length. */
  width?: number | undefined;
  /** The columns that were asked for, in their order. */
  order?: readonly string[] | undefined;
}

/** A result for people: rows as a table, one record as lines. */
export function asTable(value: unknown, paper: Paper = {}): string {
  if (Array.isArray(value))
    return value.length === 0 ? "(none)" : rows(value as Record<string, unknown>[], paper);
  if (typeof value !== "object" || value === null) return String(value);
  const entries = Object.entries(value);
  const only = entries.length === 1 ? entries[0]![1] : null;
  if (Array.isArray(only) && only.every((one) => typeof one === "object")) return asTable(only, paper);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, one]) => `${name.padEnd(width)}  ${lines(one, width, paper)}`).join("\n");
}

function lines(value: unknown, indent: number, { width }: Paper): string {
  if (!isNested(value)) return cell(value);
  const inner = { width: width && width - Math.min(indent, 2) };
  return `\n${asTable(value, inner)}`.replaceAll("\n", `\n${" ".repeat(Math.min(indent, 2))}`);
}

/** Rows, or a record that would be a long line of JSON. */
function isNested(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && typeof value[0] === "object";
  return typeof value === "object" && value !== null && cell(value).length > INLINE;
}

function rows(list: Record<string, unknown>[], { width, order }: Paper): string {
  const names = columns(list, order);
  const cells = list.map((row) => names.map((name) => cell(row[name])));
  const wanted = names.map((name, index) =>
    Math.max(
      name.length,
      ...cells.map((row) => Math.min(name === WHOLE ? Infinity : WIDEST, widthOf(row[index]!))),
    ),
  );
  const widths = fitted(wanted, width, names.indexOf(WHOLE));
  if (widths === null) return list.map((row) => record(row, names)).join("\n\n");
  const line = (row: string[]) =>
    row
      .map((text, index) => filled(text, widths[index]!))
      .join(" ".repeat(GAP))
      .trimEnd();
  return [line(names), line(widths.map((one) => "─".repeat(one))), ...cells.map(line)].join("\n");
}

/** Those that were asked for, or those that are not empty. */
function columns(list: Record<string, unknown>[], order: readonly string[] | undefined): string[] {
  const known = Object.keys(list[0] ?? {});
  if (order?.length && order.every((name) => known.includes(name))) return [...order];
  return known.filter((name) => list.some((row) => cell(row[name]) !== ""));
}

/** The widest columns give way until the line fits, all but the one that is kept `whole`; null when it cannot. */
function fitted(wanted: readonly number[], width: number | undefined, whole: number): number[] | null {
  if (width === undefined) return [...wanted];
  const room = width - GAP * (wanted.length - 1);
  const least = wanted.map((one, index) => (index === whole ? one : Math.min(one, NARROWEST)));
  if (sum(least) > room) return null;
  const widths = [...wanted];
  for (let over = sum(widths) - room; over > 0; over--) {
    const widest = Math.max(...widths.filter((_, index) => index !== whole));
    widths[widths.findIndex((one, index) => index !== whole && one === widest)]!--;
  }
  return widths;
}

function record(row: Record<string, unknown>, names: readonly string[]): string {
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => `${name.padEnd(width)}  ${cell(row[name])}`.trimEnd()).join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.length === 0) return "";
  if (typeof value !== "object") return harmless(String(value).replaceAll(/\s+/g, " "));
  const text = Array.isArray(value) ? value.map(cell).join(", ") : harmless(JSON.stringify(value));
  return text === "{}" ? "" : text;
}

/** Text as a terminal shows it: names are of whoever wrote them, and may hold its control sequences. */
export function harmless(text: string): string {
  return text.replaceAll(ORDERS, "\ufffd");
}

/** Columns that it takes on a terminal, where letters of some alphabets take two. */
function widthOf(text: string): number {
  return terminalWidth(text).width;
}

/** Cut between two letters to the width, or filled up to it. */
function filled(text: string, most: number): string {
  let shown = text;
  if (widthOf(text) > most) {
    shown = "";
    for (const { segment } of LETTERS.segment(text)) {
      if (widthOf(shown + segment) >= most) break;
      shown += segment;
    }
    shown += "…";
  }
  return shown + " ".repeat(Math.max(0, most - widthOf(shown)));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
