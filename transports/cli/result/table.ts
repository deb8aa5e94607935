import terminalWidth from "fast-string-truncated-width";
import { columnsThatFit, fittedWidths } from "./widths.ts";

const INLINE = 80;
/** The width of rows inside a record where no terminal gives one, as in a pipe. */
const INNER_WIDTH = 160;
const MOST_TEXT = 600;
const GAP = 2;
/** This column is never cut: it holds the error and the next step. */
const UNCUT = "message";
const LETTERS = new Intl.Segmenter();
/** Characters that a terminal obeys instead of showing, and those that change the writing direction. */
const CONTROLS = /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)$/;

export interface Layout {
  /** Characters in a line of the terminal; without it lines have any length. */
  width?: number | undefined;
  /** The selected columns, in their order. */
  order?: readonly string[] | undefined;
  /** Columns that do not fit may be left out, the last ones first. */
  mayLeaveOut?: boolean | undefined;
  /** Makes a heading stand out. */
  heading?: ((text: string) => string) | undefined;
}

/** A result for people: rows as a table, one record as lines. */
export function asTable(value: unknown, layout: Layout = {}): string {
  if (Array.isArray(value))
    return value.length === 0 ? "(none)" : rows(value as Record<string, unknown>[], layout);
  if (typeof value !== "object" || value === null) return String(value);
  const entries = Object.entries(value);
  const only = entries.length === 1 ? entries[0]![1] : null;
  if (Array.isArray(only) && only.every((one) => typeof one === "object")) {
    return asTable(only, { ...layout, mayLeaveOut: true });
  }
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, one]) => `${name.padEnd(width)}  ${lines(one, width, layout)}`).join("\n");
}

function lines(value: unknown, indent: number, { width, heading }: Layout): string {
  if (!isNested(value)) {
    const sentences = isSentences(value) ? value : [value];
    const text = sentences
      .map((one) => shortened(cell(one) || (isEmpty(one) ? "none" : "")))
      .map((one) => wrapped(one, width && width - indent - GAP))
      .join("\n");
    return text.replaceAll("\n", `\n${" ".repeat(indent + GAP)}`);
  }
  // A list is all that was asked for. Rows inside a record are a part, and -o json has all of it.
  const inner = {
    width: (width ?? INNER_WIDTH) - Math.min(indent, 2),
    heading,
    ...(width === undefined && { mayLeaveOut: true }),
  };
  return `\n${asTable(value, inner)}`.replaceAll("\n", `\n${" ".repeat(Math.min(indent, 2))}`);
}

/** A mail's whole text would hide what stands below it. */
function shortened(text: string): string {
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}… (-o json shows all)`;
}

/** Whether a list needs a line for each of its texts: commas do not part sentences. */
function isSentences(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.every((one) => typeof one === "string") &&
    value.some((one) => one.length > INLINE)
  );
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Whether a value is shown on lines of its own: rows, or a record whose JSON would be a long line. */
function isNested(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && typeof value[0] === "object";
  return typeof value === "object" && value !== null && cell(value).length > INLINE;
}

function rows(list: Record<string, unknown>[], { width, order, mayLeaveOut, heading }: Layout): string {
  const names = columns(list, order);
  const told = mayLeaveOut ? names.filter((name) => isPlain(list, name)) : names;
  const all = told.map((name) => ({ name, cells: list.map((row) => cell(row[name])) }));
  const measured = all.map(({ name, cells }) => {
    const isId = cells.some((text) => UUID.test(text));
    const isWhole = isId || name === UNCUT || cells.some((text) => SHOWN_TIME.test(text));
    const wanted = Math.max(name.length, ...cells.map(widthOf));
    return { name, wanted, isWhole, rank: name === "id" || name === UNCUT ? 0 : isId ? 2 : 1 };
  });
  const fitting = mayLeaveOut ? columnsThatFit(measured, width, GAP) : measured;
  const widths = fittedWidths(fitting, width, GAP);
  if (widths === null) return list.map((row) => record(row, names, width)).join("\n\n");
  const shown = fitting.map(({ name }) => all.find((one) => one.name === name)!);
  const line = (texts: string[]) =>
    texts
      .map((text, index) => filled(text, widths[index]!))
      .join(" ".repeat(GAP))
      .trimEnd();
  const head = line(shown.map(({ name }) => name));
  const rule = line(widths.map((one) => "─".repeat(one)));
  const body = list.map((_, index) => line(shown.map(({ cells }) => cells[index]!)));
  const left = names.length - shown.length;
  const more =
    left > 0
      ? [`(${left} more ${left === 1 ? "column" : "columns"}: a wider window, --select, or -o json)`]
      : [];
  return [heading?.(head) ?? head, rule, ...body, ...more].join("\n");
}

const SHOWN_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a column has a value in any row, and not only records, of which a cell shows the beginning. */
function isPlain(list: readonly Record<string, unknown>[], name: string): boolean {
  const filled = list.map((row) => row[name]).filter((value) => cell(value) !== "");
  return filled.some((value) => !cell(value).startsWith("{"));
}

/** The selected columns, or else those with a value in any row. */
function columns(list: Record<string, unknown>[], order: readonly string[] | undefined): string[] {
  const known = Object.keys(list[0] ?? {});
  if (order?.length && order.every((name) => known.includes(name))) return [...order];
  return known.filter((name) => list.some((row) => cell(row[name]) !== ""));
}

function record(row: Record<string, unknown>, names: readonly string[], width: number | undefined): string {
  const indent = Math.max(...names.map((name) => name.length));
  return names
    .map((name) => `${name.padEnd(indent)}  ${lines(row[name], indent, { width })}`.trimEnd())
    .join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.length === 0) return "";
  if (typeof value === "string") return shownText(value);
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(cell).join(", ");
  const isPlain = Object.values(value).every((one) => one === null || typeof one === "number" || isWord(one));
  return withoutControls(isPlain ? figuresOf(value) : JSON.stringify(value));
}

const isWord = (value: unknown) => typeof value === "string" && /^\w{1,20}$/.test(value);

/** Figures by name, such as `amount 12.5, currency USD`; nothing where there are none. */
function figuresOf(value: object): string {
  return Object.entries(value)
    .flatMap(([name, one]) => (one === null ? [] : `${name} ${one}`))
    .join(", ");
}

/** A text in one line, a time without its fractions. */
export function shownText(text: string): string {
  return withoutControls(text.replace(TIME, "$1 $2Z").replaceAll(/\s+/g, " "));
}

/** Text without control characters: names come from outside and may hold a terminal's control sequences. */
export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, "\ufffd");
}

/** A text in lines of at most `width` columns, broken between words where it can be. */
export function wrapped(text: string, width: number | undefined): string {
  if (width === undefined || widthOf(text) <= width) return text;
  const broken: string[] = [];
  for (const word of text.split(" ")) {
    const last = broken.at(-1);
    if (last !== undefined && widthOf(`${last} ${word}`) <= width)
      broken[broken.length - 1] = `${last} ${word}`;
    else broken.push(word);
  }
  return broken.join("\n");
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
