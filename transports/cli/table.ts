import terminalWidth from "fast-string-truncated-width";

const MAX_WIDTH = 40;
const MIN_WIDTH = 6;
const INLINE = 80;
const GAP = 2;
/** This column is never cut: it holds the error and the next step. */
const UNCUT = "message";
const LETTERS = new Intl.Segmenter();
/** Characters that a terminal obeys instead of showing, and those that change the writing direction. */
const CONTROLS = /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

export interface Layout {
  /** Characters in a line of the terminal; without it lines have any length. */
  width?: number | undefined;
  /** The selected columns, in their order. */
  order?: readonly string[] | undefined;
}

/** A result for people: rows as a table, one record as lines. */
export function asTable(value: unknown, layout: Layout = {}): string {
  if (Array.isArray(value))
    return value.length === 0 ? "(none)" : rows(value as Record<string, unknown>[], layout);
  if (typeof value !== "object" || value === null) return String(value);
  const entries = Object.entries(value);
  const only = entries.length === 1 ? entries[0]![1] : null;
  if (Array.isArray(only) && only.every((one) => typeof one === "object")) return asTable(only, layout);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, one]) => `${name.padEnd(width)}  ${lines(one, width, layout)}`).join("\n");
}

function lines(value: unknown, indent: number, { width }: Layout): string {
  if (!isNested(value)) return cell(value);
  const inner = { width: width && width - Math.min(indent, 2) };
  return `\n${asTable(value, inner)}`.replaceAll("\n", `\n${" ".repeat(Math.min(indent, 2))}`);
}

/** Whether a value is shown on lines of its own: rows, or a record whose JSON would be a long line. */
function isNested(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && typeof value[0] === "object";
  return typeof value === "object" && value !== null && cell(value).length > INLINE;
}

function rows(list: Record<string, unknown>[], { width, order }: Layout): string {
  const names = columns(list, order);
  const cells = list.map((row) => names.map((name) => cell(row[name])));
  const wanted = names.map((name, index) =>
    Math.max(
      name.length,
      ...cells.map((row) => Math.min(name === UNCUT ? Infinity : MAX_WIDTH, widthOf(row[index]!))),
    ),
  );
  const widths = fitted(wanted, width, names.indexOf(UNCUT));
  if (widths === null) return list.map((row) => record(row, names)).join("\n\n");
  const line = (row: string[]) =>
    row
      .map((text, index) => filled(text, widths[index]!))
      .join(" ".repeat(GAP))
      .trimEnd();
  return [line(names), line(widths.map((one) => "─".repeat(one))), ...cells.map(line)].join("\n");
}

/** The selected columns, or else those with a value in any row. */
function columns(list: Record<string, unknown>[], order: readonly string[] | undefined): string[] {
  const known = Object.keys(list[0] ?? {});
  if (order?.length && order.every((name) => known.includes(name))) return [...order];
  return known.filter((name) => list.some((row) => cell(row[name]) !== ""));
}

/** The widths after cutting the widest columns until the line fits, except the one at `uncut`; null if it cannot fit. */
function fitted(wanted: readonly number[], width: number | undefined, uncut: number): number[] | null {
  if (width === undefined) return [...wanted];
  const room = width - GAP * (wanted.length - 1);
  const least = wanted.map((one, index) => (index === uncut ? one : Math.min(one, MIN_WIDTH)));
  if (sum(least) > room) return null;
  const widths = [...wanted];
  for (let over = sum(widths) - room; over > 0; over--) {
    const widest = Math.max(...widths.filter((_, index) => index !== uncut));
    widths[widths.findIndex((one, index) => index !== uncut && one === widest)]!--;
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
  if (typeof value !== "object") return withoutControls(String(value).replaceAll(/\s+/g, " "));
  const text = Array.isArray(value) ? value.map(cell).join(", ") : withoutControls(JSON.stringify(value));
  return text === "{}" ? "" : text;
}

/** Text without control characters: names come from outside and may hold a terminal's control sequences. */
export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, "\ufffd");
}

/** The columns that a text takes on a terminal: letters of some alphabets take two. */
function widthOf(text: string): number {
  return terminalWidth(text).width;
}

/** The text cut between two letters, or padded, to the width. */
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
