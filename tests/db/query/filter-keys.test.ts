import { expect, test } from "vitest";
import { parseCondition } from "#db/query/conditions.ts";
import { QueryError, type ReadableTable } from "#db/query/readable-table.ts";
import { isFull } from "../../support/proof-size.ts";

const KEYS = isFull ? 100_000 : 20_000;
const readable: ReadableTable = {
  table: "players",
  columns: { tier: { type: "text" }, custom: { type: "jsonb" }, adt: { type: "double precision" } },
};

interface Reading {
  column: string;
  path: string[];
  not: boolean;
  operator: string;
}

const COMPARISONS = ["eq", "neq", "gt", "gte", "lt", "lte"];
const OPERATORS = [...COMPARISONS, "like", "ilike", "in", "is", "cs", "cd", "ov"];
const TAKEN: Record<string, string[]> = {
  text: [...COMPARISONS, "like", "ilike", "in", "is"],
  jsonb: [...COMPARISONS, "is", "cs", "cd"],
  "double precision": [...COMPARISONS, "in", "is"],
};

/** A second reading of a filter: by splitting the key, where the service scans key and value together. */
function reading(key: string, value: string): Reading | null {
  const [head = "", ...words] = key.split(".");
  const [column = "", ...arrows] = head.trim().split("->>");
  const known = Object.hasOwn(readable.columns, column) ? readable.columns[column]!.type : null;
  if (known === null || (arrows.length > 0 && known !== "jsonb") || arrows.length > 1) return null;
  const isWord = (word: string) => word === "not" || OPERATORS.includes(word);
  const first = words.findIndex(isWord);
  const dotted = known !== "jsonb" || arrows.length > 0 ? 0 : first < 0 ? words.length : first;
  const path = [...arrows, ...words.slice(0, dotted)];
  if (path.includes("") || path.length > 8) return null;
  const rest = words.slice(dotted);
  const [not, operator, operand] = split(rest, value);
  if (operator === null || !OPERATORS.includes(operator)) return null;
  const type = path.length > 0 ? "text" : known;
  if (!TAKEN[type]!.includes(operator) || !fits(type, operator, operand)) return null;
  return { column, path, not, operator };
}

/** The words behind column and path: `not` and the operator stand in the key, or begin the value. */
function split(rest: string[], value: string): [boolean, string | null, string] {
  const parts = value.split(".");
  const inValue = (not: boolean, at: number): [boolean, string | null, string] =>
    parts.length > at + 1 ? [not, parts[at]!, parts.slice(at + 1).join(".")] : [not, null, ""];
  const [first, second] = rest;
  if (rest.length === 0) return parts[0] === "not" ? inValue(true, 1) : inValue(false, 0);
  if (rest.length === 1 && first === "not" && isPlain(value)) {
    return value.toLowerCase() === "null" ? [true, "is", value] : [true, "eq", value];
  }
  if (rest.length === 1) return first === "not" ? inValue(true, 0) : [false, first!, value];
  return rest.length === 2 && first === "not" ? [true, second!, value] : [false, null, ""];
}

/** A value without an operator: what stands before its first dot is no word. */
function isPlain(value: string): boolean {
  const [word, ...others] = value.trim().split(".");
  return value !== "" && !value.trim().startsWith("(") && (others.length === 0 || !/^[a-z_]+$/i.test(word!));
}

function fits(type: string, operator: string, operand: string): boolean {
  if (operator === "is") return /^(null|not_null)$/i.test(operand);
  if (operator === "in") return type === "text" ? operand !== "" : numbers(operand);
  if (type === "double precision") return isNumber(operand);
  return type === "text" || /^\d+(\.\d+)?$|^null$/.test(operand);
}

function numbers(operand: string): boolean {
  return operand !== "" && operand.split(",").every(isNumber);
}

function isNumber(text: string): boolean {
  return /^(\d+\.?\d*|\.\d+)$/.test(text);
}

const WORDS = [
  "tier",
  "custom",
  "adt",
  "not",
  "eq",
  "neq",
  "gte",
  "like",
  "in",
  "is",
  "cs",
  "Gold",
  "vip",
  "7",
];
const ODD = ["", "null", "EQ", " tier", "custom->>vip", "tier->>a", "shoe", "a b"];

/** Numbers from a seed, so that a failure can be looked at again. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test(`of ${KEYS} random keys each is read as a second reading has it, or refused as it refuses`, () => {
  const below = random(20261122);
  const word = () => (below(5) === 0 ? ODD[below(ODD.length)]! : WORDS[below(WORDS.length)]!);
  const words = (most: number) => Array.from({ length: below(most + 1) }, word);
  const column = () => ["tier", "custom", "adt", "custom->>vip", word()][below(5)]!;
  const wrong: string[] = [];
  let accepted = 0;
  for (let count = 0; count < KEYS; count++) {
    const key = [column(), ...words(4)].join(".");
    const value = words(3).join(".");
    const expected = reading(key, value);
    const read = parsed(key, value);
    if (read !== null) accepted += 1;
    if (JSON.stringify(read) !== JSON.stringify(expected)) {
      wrong.push(`${key}=${value}: ${JSON.stringify(read)}, not ${JSON.stringify(expected)}`);
    }
  }
  expect(wrong.slice(0, 10)).toEqual([]);
  expect(accepted).toBeGreaterThan(KEYS / 20);
});

function parsed(key: string, value: string): Reading | null {
  try {
    const { column, path, not, operator } = parseCondition(readable, key, value, "US");
    return { column, path, not, operator };
  } catch (error) {
    if (error instanceof QueryError) return null;
    throw error;
  }
}
