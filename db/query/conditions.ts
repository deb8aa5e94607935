import {
  formed,
  isOperator,
  KNOWN,
  OF_LISTS,
  OPERATORS,
  type Operand,
  type Operator,
  readOperand,
  refuse,
  type Scan,
} from "./operands.ts";
import type { ColumnType, ReadableTable } from "./readable-table.ts";
import { quote, unknownColumn } from "./values.ts";

export interface Condition extends Operand {
  /** The query key of the condition. */
  field: string;
  column: string;
  /** Keys into a jsonb column; empty for the column itself. */
  path: string[];
  not: boolean;
  operator: Operator;
}

export interface Group {
  logic: "and" | "or";
  not: boolean;
  filters: Filter[];
}

export type Filter = Condition | Group;

const DEPTH_LIMIT = 8;
const PATH_LIMIT = 8;
const ORDERING = new Set<string>(["gt", "gte", "lt", "lte"]);
const JSON_NUMBER = /^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?$/;

/**
 * Reads `column.operator=value` and `column=operator.value` alike: joined by a dot, both are
 * `column[.json.path][.not].operator.value`, which is also how a condition stands inside `or=(…)`. The key ends
 * behind its column, its path, `not` or the operator: more of it would be part of the value.
 */
export function parseCondition(readable: ReadableTable, key: string, value: string, home: string): Condition {
  const scan = { readable, home, field: key, text: `${key}.${negated(key, value)}`, at: 0 };
  return readCondition(scan, false);
}

/**
 * The value behind `column.not=`, with an operator: the specification's form has none. A word and a dot are an
 * operator, also a misspelt one, which must not widen a filter.
 */
function negated(key: string, value: string): string {
  if (!key.endsWith(".not") || value === "" || /^\s*(\(|[a-z_]+\.)/i.test(value)) return value;
  return /^null$/i.test(value) ? "is.null" : `eq.${value}`;
}

/** Reads the value of `or=`, `and=`, `not.or=`, `not.and=`: `(a.eq.1,and(b.is.null,c.gt.2))`. */
export function parseGroup(readable: ReadableTable, key: string, value: string, home: string): Group {
  const scan = { readable, home, field: key, text: value, at: 0 };
  const group = readGroup(scan, key.endsWith("or") ? "or" : "and", key.startsWith("not."), 1);
  if (scan.at < value.length) refuse(scan, `unexpected ${quote(value.slice(scan.at))} after the closing )`);
  return group;
}

/** The operator among the words behind a column, or the `not` before it: keys of a JSON path may come first. */
export function operatorAmong(words: readonly string[]): string | undefined {
  return words.find((word) => word === "not" || isOperator(word));
}

/** All conditions of a filter, nested ones included. */
export function conditionsOf(filter: Filter): Condition[] {
  return "logic" in filter ? filter.filters.flatMap(conditionsOf) : [filter];
}

function readGroup(scan: Scan, logic: "and" | "or", not: boolean, depth: number): Group {
  if (depth > DEPTH_LIMIT) refuse(scan, `groups nest more than ${DEPTH_LIMIT} deep`);
  if (scan.text[scan.at] !== "(") {
    refuse(scan, "a group stands in parentheses, such as (tier.eq.gold,adt.gt.100)");
  }
  const filters: Filter[] = [];
  do {
    scan.at += 1;
    filters.push(readMember(scan, depth));
  } while (scan.text[scan.at] === ",");
  if (scan.text[scan.at] !== ")") refuse(scan, "a group has no closing )");
  scan.at += 1;
  return { logic, not, filters };
}

function readMember(scan: Scan, depth: number): Filter {
  const nested = /^\s*(not\.)?(and|or)(?=\()/.exec(scan.text.slice(scan.at, scan.at + 100));
  if (nested) {
    scan.at += nested[0].length;
    return readGroup(scan, nested[2] === "or" ? "or" : "and", nested[1] !== undefined, depth + 1);
  }
  return readCondition(scan, true);
}

function readCondition(scan: Scan, nested: boolean): Condition {
  const { column, path: arrowed, type: end } = readTarget(scan);
  const path = [...arrowed];
  let word = readWord(scan);
  const keyEnd = nested ? scan.text.length : scan.field.length;
  while (isPathKey(word, end, arrowed) && scan.at <= keyEnd) {
    path.push(word);
    word = readWord(scan);
  }
  if (path.length > PATH_LIMIT || path.includes("")) {
    refuse(scan, `a JSON path has 1 to ${PATH_LIMIT} keys, none empty`);
  }
  const { keys } = scan.readable.columns[column]!;
  const [key] = path;
  if (keys && key !== undefined && !keys.includes(key)) {
    refuse(scan, `${column} has no key ${quote(key)}; there are ${keys.join(", ")}`);
  }
  const not = word === "not";
  if (not) word = readWord(scan);
  if (!isOperator(word)) {
    const near = KNOWN.has(word.toLowerCase()) ? `; did you mean ${word.toLowerCase()}?` : "";
    const known = `; there are ${[...KNOWN].join(", ")}, and not before them`;
    refuse(scan, `unknown operator ${quote(word)}${near}${known}`);
  }
  if (!nested && scan.at < keyEnd) {
    const said = `${quote(scan.field.slice(scan.at + 1))} stands behind the operator; the value follows "="`;
    refuse(scan, `${said}, such as ${scan.field.slice(0, scan.at)}=${scan.field.slice(scan.at + 1)}`);
  }
  const dotted = path.length > arrowed.length;
  const text = dotted ? "text" : end;
  // A list of texts may stand at the end of a path.
  const isList = path.length > 0 && text === "text" && OF_LISTS.includes(word);
  const type = isList ? "text[]" : text;
  const fitting = OPERATORS[type];
  if (!fitting.includes(word)) {
    refuse(scan, `${word} does not fit ${column} (${type}), which takes ${fitting.join(", ")}`);
  }
  const operand = readOperand(scan, word, { type, isPath: path.length > 0, nested });
  const read = { operator: word, not, ...operand };
  const form = path.length === 0 ? scan.readable.columns[column]!.form : undefined;
  // As text 10 stands before 9, so a dotted path is ordered as JSON when the value is a number.
  const numeric = dotted && ORDERING.has(word) && JSON_NUMBER.test(String(operand.value));
  return {
    field: scan.field,
    column,
    path,
    ...(form ? formed(scan, read, form) : read),
    ...(numeric && { type: "jsonb" }),
  };
}

/** Whether a word behind a JSON column without arrows is a key of its path. */
function isPathKey(word: string, end: ColumnType, arrowed: string[]): boolean {
  return end === "jsonb" && arrowed.length === 0 && word !== "not" && !isOperator(word);
}

/** The column and, when written with arrows, the JSON path and what its end is read as. */
function readTarget(scan: Scan): Pick<Condition, "column" | "path" | "type"> {
  const dot = scan.text.indexOf(".", scan.at);
  const end = dot < 0 ? scan.text.length : dot;
  const written = scan.text.slice(scan.at, end).trim();
  const [column = "", ...steps] = written.split(/(->>?)/);
  const known = Object.hasOwn(scan.readable.columns, column) ? scan.readable.columns[column] : undefined;
  if (!known) refuse(scan, unknownColumn(scan.readable, column));
  scan.at = end;
  if (steps.length === 0) return { column, path: [], type: known.type };
  const arrows = steps.filter((_, index) => index % 2 === 0);
  if (known.type !== "jsonb" || arrows.slice(0, -1).includes("->>")) {
    refuse(scan, `${quote(written)} is no path into a JSON column`);
  }
  const path = steps.filter((_, index) => index % 2 === 1);
  return { column, path, type: arrows.at(-1) === "->>" ? "text" : "jsonb" };
}

/** The word between the scan's dot and the next dot, to which the scan moves. */
function readWord(scan: Scan): string {
  const start = scan.at + 1;
  const dot = scan.text.indexOf(".", start);
  if (dot < 0) refuse(scan, "a filter has an operator and a value, such as tier.eq=gold or tier=eq.gold");
  scan.at = dot;
  return scan.text.slice(start, dot);
}
