import { Tokenizer, TokenKind } from "liquidjs";
import { quoted } from "#runtime/visible-text.ts";
import { pieceWords } from "#tools/campaigns/content/message-words.ts";

/** A person who decides reads no more. */
const MOST_TEXTS = 20;
const MOST_CHARACTERS = 1_000;

const CONDITIONS = "It has conditions ({% if %}): other players may read other words.";
/** In JSON, which writes a break as two characters. A loop leaves its words out where a player has none of its items. */
const CONDITION = /\{%-?(?:\s|\\+(?:[nrtf]|u000b))*(?:if|unless|case|for|tablerow|capture|liquid)\b/;

/** A message before it is filled. A script stands in its text too, as JSON. */
export interface Source {
  html?: string | null | undefined;
  text?: string | null | undefined;
  script: object | null;
  [part: string]: unknown;
}

/** The words of a message, before it is filled, that the shown one lacks: other players or another day may bring them. */
export function otherWords(sources: Source[], shown: string[]): string[] {
  const seen = shown.join("\n");
  const branches = sources.flatMap(({ html, text, ...rest }) => [
    ...(html ? branchesOf(html).flatMap(pieceWords) : []),
    ...stringsIn(rest.script ? rest : [text, rest]).flatMap(branchesOf),
  ]);
  const texts = stringsIn(sources).flatMap(textsInTags);
  const others = [
    ...new Set([
      // What is shown is JSON: a break in it must not look like a letter.
      ...branches.filter((words) => !isShown(words, seen.replaceAll("\\n", " "))),
      ...texts.filter((text) => hasWords(text) && !seen.includes(text)),
    ]),
  ];
  const named = others.slice(0, MOST_TEXTS).map((text) => quoted(text, MOST_CHARACTERS));
  const more = others.length > MOST_TEXTS ? ` and ${others.length - MOST_TEXTS} more` : "";
  return [
    ...(others.length > 0
      ? [`Words in its tags, which other players or another day may show: ${named.join(", ")}${more}.`]
      : []),
    ...(CONDITION.test(JSON.stringify(sources)) ? [CONDITIONS] : []),
  ];
}

/** A printed value in a text. */
const PRINTED = "…";
const OPENS = /^(?:if|unless|case|for|tablerow|capture)$/;
const PARTS = /^(?:else|elsif|when|end\w+)$/;

/**
 * The texts between the tags of a source from its first condition on: players may read them or not. Its end is not
 * looked for: a tag in a comment looks like one too.
 */
function branchesOf(source: string): string[] {
  const branches: string[] = [];
  for (const { kind, begin, end } of new Tokenizer(source).readTopLevelTokens()) {
    const part = source.slice(begin, end);
    const verb = kind === TokenKind.Tag ? (/\w+/.exec(part)?.[0] ?? "") : "";
    const isInside = branches.length > 0;
    if (OPENS.test(verb) || (isInside && PARTS.test(verb))) branches.push("");
    else if (isInside) branches.push(branches.pop()! + (kind === TokenKind.HTML ? part : PRINTED));
  }
  return branches.map((branch) => branch.trim());
}

const LETTER = /[\p{L}\p{N}]/u;
const ENDS = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;

/** Whether the words stand in this order, as whole words, in what is shown. Values, lines and addresses part them. */
function isShown(words: string, seen: string): boolean {
  let from = 0;
  for (const part of words.split(/[…\n()]+/)) {
    const word = JSON.stringify(part.replace(ENDS, "")).slice(1, -1);
    if (word !== "") from = endOf(word, seen, from);
    if (from < 0) return false;
  }
  return true;
}

/** The end of the next such word, or -1. A letter of another word is none: branches could spell a text by letters. */
function endOf(word: string, seen: string, from: number): number {
  for (let at = seen.indexOf(word, from); at >= 0; at = seen.indexOf(word, at + 1)) {
    const end = at + word.length;
    if (!LETTER.test(seen.charAt(at - 1)) && !LETTER.test(seen.charAt(end))) return end;
  }
  return -1;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

/** The quoted texts in the Liquid tags of a source, as Liquid reads them. */
function textsInTags(source: string): string[] {
  const texts: string[] = [];
  const next = (pattern: RegExp, from: number) => {
    pattern.lastIndex = from;
    return pattern.exec(source);
  };
  let isInside = false;
  for (
    let found = next(OPENING, 0);
    found;
    found = next(isInside ? INSIDE : OPENING, found.index + found[0].length)
  ) {
    const [, text] = found;
    if (text === undefined) isInside = !isInside;
    else texts.push(text.slice(1, -1));
  }
  return texts;
}

const OPENING = /\{[{%]/g;
const INSIDE = /("(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')|[%}]\}/g;

/** Neither a form of dates, such as %B %d, nor a mark. */
function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]{2}/u.test(text.replace(/%[-_^#0:]*\w/g, " "));
}
