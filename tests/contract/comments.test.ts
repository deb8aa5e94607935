import { expect, test } from "vitest";
import { FLOORS, sourcesIn, textOf } from "../support/checkout/source-files.ts";

const COMMENT_LINE = /^\s*(?:\/\*\*?|\*(?!\/)|\/\/)\s?(.*?)(?:\*\/)?\s*$/;
const QUOTED = /`[^`]*`|"[^"]*"/g;
/** "do-not-call" and the like are names. */
const NEGATION =
  /(?<![\w-])(?:not|never|no|nothing|nobody|none|neither|without|unless|cannot|nowhere)(?![\w-])|n't\b/gi;
/** Between these a clause has one negation at most. */
const CLAUSE_END = /[,;:()|.!?]|\b(?:and|or|nor|but|than|where|while|so|because|as|if|when)\b/i;
const NOUNLESS = /^(?:What|Who|Whose|Whoever)\b.*[^?]$/;

/** The sentences of a file's comments, with each quotation as one word. */
function sentencesOf(text: string): string[] {
  const blocks = text.split("\n").reduce<string[][]>(
    (found, line) => {
      const words = COMMENT_LINE.exec(line)?.[1];
      if (words === undefined) found.push([]);
      else found.at(-1)!.push(words.trim());
      return found;
    },
    [[]],
  );
  return blocks.flatMap((lines) =>
    lines
      .join(" ")
      .replace(QUOTED, "Q")
      .split(/(?<=[.?!])\s+/),
  );
}

function isNegatedTwice(sentence: string): boolean {
  return sentence.split(CLAUSE_END).some((clause) => (clause.match(NEGATION) ?? []).length > 1);
}

function hardIn(text: string): string[] {
  return sentencesOf(text).filter((sentence) => isNegatedTwice(sentence) || NOUNLESS.test(sentence));
}

test("a hard sentence is recognized", () => {
  const text =
    '/** Nobody waits\n * without an end. */\n// "no" is not a yes, and no maybe.\n// What it does.\n';
  expect(hardIn(text)).toEqual(["Nobody waits without an end.", "What it does."]);
});

test("a comment says what is, with one negation a clause, and begins with its subject", () => {
  const hard = FLOORS.flatMap(sourcesIn).flatMap((path) =>
    hardIn(textOf(path)).map((sentence) => `${path}: ${sentence}`),
  );
  expect(
    hard,
    "Say it the other way round: not “Without it no callback is accepted.”, but “Callbacks are accepted only with it.”",
  ).toEqual([]);
});
