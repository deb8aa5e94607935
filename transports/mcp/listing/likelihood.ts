import type { Operation } from "#runtime/operation/operation.ts";
import type { Verb } from "#runtime/operation/table.ts";
import { askedFor } from "./asked-words.ts";
import { allWordsOf, stem, weightedWords, wordsOf } from "./query-words.ts";

/** A request in people's words. */
export interface Request {
  words: readonly string[];
  all: readonly string[];
  weights: ReadonlyMap<string, number>;
  /** Somebody wants something back. */
  isUndoing: boolean;
  /** Somebody wants to know what is or was. */
  isAsking: boolean;
}

const UNDOING =
  /\b(?:undo|undelete|restore|recover|revert|bring back|by mistake|by accident|accidentally)\b/i;

const ASKING =
  /^\W*(?:who|whom|whose|which|when|why|how (?:many|much|often)|(?:is|are|was|were|did|does|has|have|may))\b/i;

export function requestOf(query: string): Request {
  return {
    words: wordsOf(query),
    all: allWordsOf(query),
    weights: weightedWords(query),
    isUndoing: UNDOING.test(query),
    isAsking: ASKING.test(query),
  };
}

/**
 * Whether a tool stands behind all others: one that removes, for people who want something back, or one that changes,
 * for a question.
 */
export function standsBack({ effect }: Operation, { isUndoing, isAsking }: Request): boolean {
  return (isUndoing && (effect === "destroy" || effect === "contact")) || (isAsking && effect !== "read");
}

// Of a record's five tools, the most frequently needed ones, to decide between equal scores.
const USUAL: Partial<Record<Verb, number>> = { list: 1.2, create: 1.1, delete: 0.8 };

/**
 * How likely a request is about a tool, beside the words that both have. A request with all words of a tool's name is
 * about that tool, rather than one with a longer name.
 */
export function likelihoodOf(operation: Operation, { words, all, weights }: Request, rarity: Rarity): number {
  const name = wordsOf(operation.name);
  if (name.length === words.length && name.every((word, at) => word === words[at])) return NAMED;
  const named = name.filter((word) => weights.has(word)).length / name.length;
  const likest = Math.max(0, ...phrasesOf(operation).map((one) => likeness(one, all, rarity)));
  return (
    (USUAL[operation.crud?.verb ?? "get"] ?? 1) *
    (0.6 + 0.4 * named) *
    (name.every((word) => words.includes(word)) ? WHOLE_NAME : 1) *
    (1 + PHRASE * likest ** 2) *
    (fits(operation.crud?.verb, all) ? 1 : OTHER_VERB)
  );
}

/** People's words for what is done with a record. A request with one of them is not about another verb. */
const VERBS: Partial<Record<Verb, readonly string[]>> = {
  create: ["create", "add", "make", "new", "build", "define"].map(stem),
  update: ["update", "change", "edit", "rename", "correct", "modify"].map(stem),
  delete: ["delete", "remove", "erase", "destroy", "drop"].map(stem),
  list: ["list", "show", "see", "which", "who", "find"].map(stem),
};
const OTHER_VERB = 0.5;

function fits(verb: Verb | undefined, words: readonly string[]): boolean {
  if (verb === undefined) return true;
  const said = (Object.keys(VERBS) as Verb[]).filter((one) =>
    VERBS[one]!.some((word) => words.includes(word)),
  );
  return said.length !== 1 || said[0] === verb || (said[0] === "list" && verb === "get");
}

/** The factor for a request that is one of a tool's phrases. By its square, half a phrase counts a quarter of it. */
const PHRASE = 80;
const PHRASES = new WeakMap<Operation, string[][]>();

function phrasesOf(operation: Operation): string[][] {
  const known = PHRASES.get(operation) ?? askedFor(operation).phrases.map(allWordsOf);
  PHRASES.set(operation, known);
  return known;
}

/** How much a word of a phrase says: more where few tools have it. */
export type Rarity = (word: string) => number;

export function rarityAmong(operations: readonly Operation[]): Rarity {
  const counts = new Map<string, number>();
  for (const operation of operations) {
    for (const word of new Set(phrasesOf(operation).flat())) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return (word) => Math.log(1 + operations.length / ((counts.get(word) ?? 0) + 1));
}

/** From 0 to 1: the words that a phrase and a request share (Dice), by their rarity. */
function likeness(phrase: readonly string[], words: readonly string[], rarity: Rarity): number {
  const sum = (some: Iterable<string>) => [...some].reduce((total, word) => total + rarity(word), 0);
  const shared = new Set(phrase.filter((word) => words.includes(word)));
  return (2 * sum(shared)) / (sum(new Set(phrase)) + sum(new Set(words)));
}

/** A request with the whole name in it, among other words. */
const WHOLE_NAME = 2;
/** A request that is a tool's name, in any spelling. */
const NAMED = 1_000;
