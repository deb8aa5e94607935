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

const ASKING = /^\W*(?:who|whom|whose|which|when|how (?:many|much|often))\b/i;

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
 * Whether a tool stands behind all others: nobody who wants something back wants more of it gone, and a question is not
 * about a tool that changes something.
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
export function likelihoodOf(operation: Operation, { words, all, weights }: Request): number {
  const name = wordsOf(operation.name);
  if (name.length === words.length && name.every((word, at) => word === words[at])) return NAMED;
  const named = name.filter((word) => weights.has(word)).length / name.length;
  const phrase = 1 + PHRASE * Math.max(0, ...phrasesOf(operation).map((one) => likeness(one, all)));
  return (
    (USUAL[operation.crud?.verb ?? "get"] ?? 1) *
    (0.6 + 0.4 * named) *
    (name.every((word) => words.includes(word)) ? WHOLE_NAME : 1) *
    phrase *
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

/** The factor for a request that is nearly one of a tool's phrases. */
const PHRASE = 8;
const PHRASES = new WeakMap<Operation, string[][]>();

function phrasesOf(operation: Operation): string[][] {
  const known = PHRASES.get(operation) ?? askedFor(operation).phrases.map(allWordsOf);
  PHRASES.set(operation, known);
  return known;
}

/** From 0 to 1: the words that a phrase and a request share (Dice). */
function likeness(phrase: readonly string[], words: readonly string[]): number {
  const shared = new Set(phrase.filter((word) => words.includes(word)));
  return (2 * shared.size) / (new Set(phrase).size + new Set(words).size);
}

/** A request with the whole name in it, among other words. */
const WHOLE_NAME = 2;
/** A request that is a tool's name, in whatever spelling. */
const NAMED = 1_000;
