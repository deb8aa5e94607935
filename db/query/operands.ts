import { type ColumnType, type Form, QueryError, type ReadableTable } from "./readable-table.ts";
import { fitValue, quote } from "./values.ts";

export type Operator =
  | "eq"
  | "neq"
  | "gt"
  | "gte"
  | "lt"
  | "lte"
  | "like"
  | "ilike"
  | "in"
  | "is"
  | "cs"
  | "cd"
  | "ov";

const LIST_LIMIT = 1000;

const SCALAR: readonly Operator[] = ["eq", "neq", "gt", "gte", "lt", "lte", "in", "is"];
/** The operators of lists alone. */
export const OF_LISTS: readonly Operator[] = ["cs", "cd", "ov"];
const ARRAY: readonly Operator[] = ["eq", "neq", "is", ...OF_LISTS];
/** The operators that fit each type. */
export const OPERATORS: Record<ColumnType, readonly Operator[]> = {
  uuid: SCALAR,
  text: [...SCALAR, "like", "ilike"],
  "double precision": SCALAR,
  bigint: SCALAR,
  boolean: SCALAR,
  timestamptz: SCALAR,
  date: SCALAR,
  jsonb: ["eq", "neq", "gt", "gte", "lt", "lte", "is", "cs", "cd"],
  "text[]": ARRAY,
  "uuid[]": ARRAY,
};
export const KNOWN = new Set<string>([...OPERATORS.text, ...ARRAY]);

/** The words of `is`, and their SQL. */
export const IS: Readonly<Record<string, string>> = {
  null: "is null",
  not_null: "is not null",
  true: "is true",
  false: "is false",
  unknown: "is unknown",
};

const QUOTED = /^\s*("(?:[^"\\]|\\.)*")\s*(?=[,)])/s;
const BRACED = /^\{(?:"(?:[^"\\]|\\.)*"|[^"{}])*\}/s;
const PLAIN = /^[^,)]*/;
const UNCLOSED = /^\s*"(?:[^"\\]|\\.)*$/s;
const ITEMS = {
  ")": /\s*("(?:[^"\\]|\\.)*")\s*(?=[,)])|[^,)]*/sy,
  "}": /\s*("(?:[^"\\]|\\.)*")\s*(?=[,}])|[^,}]*/sy,
  "": /\s*("(?:[^"\\]|\\.)*")\s*(?=,|$)|[^,]*/sy,
};

/** The reading position in one query key's text. */
export interface Scan {
  readable: ReadableTable;
  /** The property's country, in which phone numbers are dialed. */
  home: string;
  field: string;
  text: string;
  at: number;
}

type Place = Pick<Scan, "field" | "text" | "at">;

/** The comparison value of a condition. */
export interface Operand {
  /** The type of the comparison: the column's type, or text or jsonb at the end of a path. */
  type: ColumnType;
  /** Fitted to the type; a list for `in` and for array columns. */
  value: string | string[];
}

const WHOLE_VALUES: ReadonlySet<Operator> = new Set(["eq", "neq", "in", "cs", "cd", "ov"]);

/** The comparison of a condition. */
interface Comparison extends Operand {
  operator: Operator;
  not: boolean;
}

/**
 * The comparison in the form in which the column's values are stored: with all values that mean the same. A value that no
 * record can have is refused: an empty list would look like an answer.
 */
export function formed(scan: Scan, comparison: Comparison, form: Form): Comparison {
  const { operator, not, type, value } = comparison;
  if (!WHOLE_VALUES.has(operator)) return comparison;
  const inForm = (text: string) => {
    const fitted = form.fit(text, scan.home);
    if (fitted === null) refuse(scan, `${quote(text)} is not ${form.wants}`);
    return form.same?.(fitted) ?? [fitted];
  };
  if (Array.isArray(value)) return { ...comparison, value: value.flatMap(inForm) };
  const values = inForm(value);
  if (values.length === 1) return { ...comparison, value: values[0]! };
  return { operator: "in", not: not !== (operator === "neq"), type, value: values };
}

/** How an operand is read. */
interface Reading {
  type: ColumnType;
  /** The comparison is with the end of a path into a JSON column. */
  isPath: boolean;
  /** Inside a group, where a comma ends the operand. */
  nested: boolean;
}

/** Reads the operand after the scan's dot. In groups and lists, spaces around a value count only within quotes. */
export function readOperand(scan: Scan, operator: Operator, { type, isPath, nested }: Reading): Operand {
  if (operator === "in") return { type, value: readList(scan, type, nested) };
  const text = nested ? takeNested(scan) : scan.text.slice(scan.at + 1);
  if (operator === "is") return { type, value: readIs(scan, isPath || type === "boolean", text) };
  if (operator === "like" || operator === "ilike") return { type, value: readPattern(scan, text) };
  if (type === "text[]") return { type, value: readArray(scan, "text", text) };
  if (type === "uuid[]") return { type, value: readArray(scan, "uuid", text) };
  return { type, value: fitValue(scan.field, type, text) };
}

export function isOperator(word: string): word is Operator {
  return KNOWN.has(word);
}

/** The text of a group's member: in quotes, in braces, or up to the next comma or parenthesis. */
function takeNested(scan: Scan): string {
  const rest = scan.text.slice(scan.at + 1);
  const [taken = "", quoted] = QUOTED.exec(rest) ?? BRACED.exec(rest) ?? PLAIN.exec(rest) ?? [];
  scan.at += 1 + taken.length;
  return quoted === undefined ? taken.trim() : unquote(quoted);
}

function readIs(scan: Scan, canBeBoolean: boolean, text: string): string {
  const word = text.toLowerCase();
  if (!Object.hasOwn(IS, word)) refuse(scan, `is takes ${Object.keys(IS).join(", ")}; not ${quote(text)}`);
  if (!word.includes("null") && !canBeBoolean) refuse(scan, `is.${word} fits a boolean column only`);
  return word;
}

function readPattern(scan: Scan, text: string): string {
  if (/(?<!\\)(?:\\\\)*\\$/.test(text)) refuse(scan, `the pattern ${quote(text)} ends in a lone backslash`);
  return text.replaceAll("*", "%");
}

function readList(scan: Scan, type: ColumnType, nested: boolean): string[] {
  const bracketed = scan.text[scan.at + 1] === "(";
  if (!bracketed && (nested || scan.at + 1 === scan.text.length)) {
    refuse(scan, 'in takes a list such as (a,b,"c, d")');
  }
  if (bracketed) scan.at += 1;
  const items = readItems(scan, type, bracketed ? ")" : "");
  if (!nested && scan.at < scan.text.length) {
    refuse(scan, `unexpected ${quote(scan.text.slice(scan.at))} after the list`);
  }
  return items;
}

/** The items of a list such as {a,"b c"}, the whole value of a query key. Throws QueryError. */
export function readArray(scan: Pick<Scan, "field">, type: ColumnType, text: string): string[] {
  const array = { ...scan, text, at: 0 };
  if (!text.startsWith("{")) refuse(array, `${quote(text)} is not a list such as {a,"b c"}`);
  const items = readItems(array, type, "}");
  if (array.at < text.length) refuse(array, `unexpected ${quote(text.slice(array.at))} after the list`);
  return items;
}

/**
 * Items between commas, from the character before the first. A quoted item may hold commas, and escaped quotes and
 * backslashes. A quote that does not enclose the whole item belongs to it, as in PostgREST.
 */
function readItems(scan: Place, type: ColumnType, close: ")" | "}" | ""): string[] {
  const items: string[] = [];
  const pattern = ITEMS[close];
  do {
    if (items.length === LIST_LIMIT) refuse(scan, `a list holds ${LIST_LIMIT} values at most`);
    pattern.lastIndex = scan.at + 1;
    const [taken = "", quoted] = pattern.exec(scan.text) ?? [];
    scan.at += 1 + taken.length;
    const last = scan.text[scan.at] !== ",";
    if (last && items.length === 0 && taken.trim() === "") break;
    if (quoted === undefined && UNCLOSED.test(taken)) {
      refuse(scan, `the quote of ${quote(taken.trim())} is not closed`);
    }
    items.push(fitValue(scan.field, type, quoted === undefined ? taken.trim() : unquote(quoted)));
  } while (scan.text[scan.at] === ",");
  if ((scan.text[scan.at] ?? "") !== close) refuse(scan, `a list has no closing ${close}`);
  scan.at += close.length;
  return items;
}

function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gs, "$1");
}

/** Throws QueryError for the query key that is being read. */
export function refuse(scan: Pick<Scan, "field">, message: string): never {
  throw new QueryError(scan.field, message);
}
