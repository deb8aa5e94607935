import { randomBytes } from "node:crypto";
import { TokenizationError, Tokenizer, TokenKind } from "liquidjs";
import { quoted } from "#runtime/visible-text.ts";
import { fragmentWords, pieceWords } from "./message-words.ts";

/** A person who decides reads no more. */
const MOST_TEXTS = 20;
const MOST_CHARACTERS = 1_000;

const CONDITIONS = "It has conditions ({% if %}): other players may read other words.";
const UNSEARCHED = "It is too long to be searched for all words that other players may read.";
/** Milliseconds of the processor for one search, which holds up the process. A usual mail takes a few. */
const MOST_MS = 100;
/** Characters of HTML that are searched in all ways. Large mail clients cut off longer mails. */
const MOST_SEARCHED = 100_000;
/** In JSON, which writes a break as two characters. A loop leaves its words out where a player has none of its items. */
const CONDITION = /\{%-?(?:\s|\\+(?:[nrtf]|u000b))*(?:if|unless|case|for|tablerow|capture|liquid)\b/;

/** A message before it is filled. A script stands in its text too, as JSON. */
export interface Source {
  html?: string | null | undefined;
  text?: string | null | undefined;
  script: object | null;
  [part: string]: unknown;
}

/** The words and values of a message that a person is shown. */
export interface Shown {
  words: readonly string[];
  /** The values that tags have printed in it; null where it is shown as it is written. */
  values: readonly string[] | null;
}

/**
 * The words of a message, before it is filled, that the shown one lacks: other players or another day may bring them.
 * Of one that is shown as it is written no part is known to be read by all.
 */
export function otherWords(sources: Source[], shown: Shown): string[] {
  const seen = onOneLine(shown.words.join("\n"));
  const unfilled = shown.values === null;
  const strip = strippingOf(shown);
  const defaults = defaultMarks();
  const htmls = sources.flatMap(({ html }) => (html ? branchesOf(html, defaults, unfilled) : []));
  const texts = sources.flatMap(({ html: _, text, ...rest }) =>
    stringsIn(rest.script ? rest : [text, rest]).flatMap((source) => branchesOf(source, defaults)),
  );
  const isLong = htmls.flat().join("").length > MOST_SEARCHED;
  const isOver = deadline();
  const all = [
    ...htmls.flatMap((pieces) => htmlWords(pieces, isLong, isOver)),
    ...texts.map((pieces) => pieces.join("").trim()),
    ...stringsIn(sources).flatMap(textsInTags).filter(hasWords),
  ];
  const search = { seen, strip, isOver, defaults };
  const hidden = [...new Set(all)].filter((words) => isOver() || !isShown(words, search));
  const others = [...new Set(hidden.map(defaults.without))];
  const isSearched = !(isLong || isOver());
  const named = others.slice(0, MOST_TEXTS).map((text) => quoted(text, MOST_CHARACTERS));
  const more = others.length > MOST_TEXTS ? ` and ${others.length - MOST_TEXTS} more` : "";
  return [
    ...(others.length > 0
      ? [`Words in its tags, which other players or another day may show: ${named.join(", ")}${more}.`]
      : []),
    ...(CONDITION.test(JSON.stringify(sources)) ? [CONDITIONS] : []),
    ...(isSearched ? [] : [UNSEARCHED]),
  ];
}

/** Answers whether the time of a search is over: its processor's time, which others do not take. */
function deadline(): () => boolean {
  const from = process.threadCpuUsage();
  let isOver = false;
  return () => {
    const { user, system } = process.threadCpuUsage(from);
    isOver ||= user + system > MOST_MS * 1_000;
    return isOver;
  };
}

/** The words of a branch. Its tags may print the end of a comment or of an attribute: then each piece has its own words. */
function htmlWords(pieces: string[], isLong: boolean, isOver: () => boolean): string[] {
  const whole = pieces.join("");
  if (isOver()) return [whole];
  const words = pieceWords(whole);
  if (isLong) return words;
  const known = words.join("\n").replace(ADDRESS, "");
  const fragments = pieces.flatMap((piece) => {
    if (isOver()) return [];
    const [plain = [], ...others] = fragmentWords(piece, isOver);
    const own = plain.join("\n");
    return [
      ...plain.filter((text) => !known.includes(text.replace(ADDRESS, "").replace(ENDS, ""))),
      ...others.flat().filter((text) => !own.includes(text)),
    ];
  });
  return [...words, ...fragments];
}

/** The address behind the words of a link, which a part of it lacks. */
const ADDRESS = / \([^\s()]*\)/g;

/** JSON without its breaks: one must not look like a letter. */
function onOneLine(json: string): string {
  return json.replaceAll("\\n", " ");
}

/** A printed value in a text. */
const PRINTED = "…";

/** A tag that prints a value or else this text, and does nothing more with them. */
const DEFAULT = /^\{\{-?\s*[\w.]+\s*\|\s*default:\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*-?\}\}$/;

/** Marks of the printed values that have a default. No author can write one: each search has its own. */
function defaultMarks() {
  const own = `z${randomBytes(8).toString("hex")}x`;
  const pattern = new RegExp(`${own}(\\d+)z`, "g");
  const texts: string[] = [];
  return {
    /** The mark behind the value of an output tag; none where it has no default. */
    markOf(tag: string): string {
      const [, double, single] = DEFAULT.exec(tag) ?? [];
      const text = double ?? single;
      if (text === undefined) return "";
      const known = texts.indexOf(text);
      return `${own}${known < 0 ? texts.push(text) - 1 : known}z`;
    },
    /** The defaults whose marks stand in a text, in JSON. */
    in: (text: string): string[] =>
      [...text.matchAll(pattern)].map(([, index]) =>
        onOneLine(JSON.stringify(texts[Number(index)]).slice(1, -1)),
      ),
    without: (text: string): string => text.replace(pattern, ""),
    parts: new RegExp(`((?:[${PRINTED}\\n()]|${own}\\d+z)+)`),
  };
}
type DefaultMarks = ReturnType<typeof defaultMarks>;
const OPENS = /^(?:if|unless|case|for|tablerow|capture)$/;
const PARTS = /^(?:else|elsif|when|end\w+)$/;
const PRINTS = /^(?:echo|cycle|increment|decrement|liquid)$/;

/**
 * The texts between the tags of a source from its first condition on, or of the whole, each in pieces: players may read
 * them or not. The condition's end is not looked for: a tag in a comment looks like one too.
 */
function branchesOf(source: string, defaults: DefaultMarks, isWhole = false): string[][] {
  const branches: string[][] = isWhole ? [[]] : [];
  for (const { kind, begin, end } of tokensOf(source)) {
    const part = source.slice(begin, end);
    const verb = kind === TokenKind.Tag ? (/\w+/.exec(part)?.[0] ?? "") : "";
    const isInside = branches.length > 0;
    if (OPENS.test(verb) || (isInside && PARTS.test(verb))) branches.push([]);
    else if (isInside && kind === TokenKind.HTML) branches.at(-1)!.push(part);
    else if (isInside && (kind === TokenKind.Output || PRINTS.test(verb)))
      branches.at(-1)!.push(PRINTED + (kind === TokenKind.Output ? defaults.markOf(part) : ""));
  }
  return branches;
}

/** A part that holds no Liquid, such as a category of the inbox, may have half a tag. */
function tokensOf(source: string) {
  try {
    return new Tokenizer(source).readTopLevelTokens();
  } catch (error) {
    if (!(error instanceof TokenizationError)) throw error;
    return [];
  }
}

const LETTER = /[\p{L}\p{N}]/u;
const ENDS = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu;

/** The most characters of a printed value between words, or of what is added to an address. */
const MOST_BETWEEN = 300;
/** The shown message is cut, and has no more lines. */
const MOST_PARTS = 200;

/**
 * Whether the words stand in what is shown, as whole words and in one piece but for printed values. Words from two
 * sentences would make a third one.
 */
function isShown(words: string, { seen, strip, isOver, defaults }: Search): boolean {
  const parts = words.split(defaults.parts, 2 * MOST_PARTS);
  if (defaults.without(words).length > seen.length || parts.length === 2 * MOST_PARTS) return false;
  let ends: number[] | null = null;
  let marks = "";
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 1) marks += part;
    const word = index % 2 === 1 ? "" : onOneLine(JSON.stringify(part.replace(ENDS, "")).slice(1, -1));
    if (word === "") continue;
    const between = marks;
    ends = endsOf(word, seen, ends, (gap) => isPrinted(gap, between, { strip, defaults }));
    if (ends.length === 0 || isOver()) return false;
    marks = "";
  }
  return true;
}

/** Takes the values that tags have printed out of a text. */
type Strip = (text: string) => string;

/** Whether no words stand between two words but printed values, or the defaults of those, and what is added to an address. */
function isPrinted(
  gap: string,
  marks: string,
  { strip, defaults }: Pick<Search, "strip" | "defaults">,
): boolean {
  const rest = marks.includes(")") ? gap.replace(/^[^\s()]*\)/, "") : gap;
  if (!marks.includes(PRINTED)) return !LETTER.test(rest);
  const filled = defaults.in(marks).reduce((text, value) => text.replace(value, ""), rest);
  return !LETTER.test(strip(rest)) || !LETTER.test(strip(filled));
}

interface Search {
  seen: string;
  strip: Strip;
  isOver: () => boolean;
  defaults: DefaultMarks;
}

/** Knows the values that the shown message has from its tags, in each casing of the filters. A tag may print nothing, so other words are none. */
function strippingOf({ values }: Shown): Strip {
  if (values === null) return (text) => text.replace(/\{\{[^{}]*\}\}/g, "");
  const texts = [...new Set(values)]
    .filter((text) => LETTER.test(text) && text.length <= MOST_BETWEEN)
    .flatMap((text) => [text, text.toUpperCase(), text.toLowerCase(), capitalized(text)])
    .map((text) => onOneLine(JSON.stringify(text).slice(1, -1)))
    .toSorted((a, b) => b.length - a.length);
  return (text) => texts.reduce((rest, value) => rest.replaceAll(value, ""), text);
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();

/** The ends of all such words, each behind the nearest one of `before`. A letter of another word is none. */
function endsOf(
  word: string,
  seen: string,
  before: number[] | null,
  isGap: (gap: string) => boolean,
): number[] {
  const ends: number[] = [];
  let next = 0;
  for (let at = seen.indexOf(word); at >= 0; at = seen.indexOf(word, at + 1)) {
    const end = at + word.length;
    if (LETTER.test(seen.charAt(at - 1)) || LETTER.test(seen.charAt(end)) || isOfToken(seen, at, end))
      continue;
    while (before && next < before.length && before[next]! <= at) next++;
    const from = before ? before[next - 1] : at;
    if (from === undefined || at - from > MOST_BETWEEN) continue;
    if (isGap(seen.slice(from, at))) ends.push(end);
  }
  return ends;
}

/** Whether a part of an address is joined to more of it by - or _, as letters of a random token are. */
function isOfToken(seen: string, at: number, end: number): boolean {
  if (!/[-_]/.test(seen.charAt(at - 1) + seen.charAt(end))) return false;
  return /:\/\/[^\s()"]*$/.test(seen.slice(Math.max(0, at - MOST_BETWEEN), at));
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

/** The quoted texts and the numbers in the Liquid tags of a source. A number that is compared is not printed. */
function textsInTags(source: string): string[] {
  return tokensOf(source).flatMap(({ kind, begin, end }) =>
    kind === TokenKind.HTML
      ? []
      : [...source.slice(begin, end).matchAll(LITERAL)].map(
          ([, text, number]) => number ?? text!.slice(1, -1),
        ),
  );
}

const LITERAL =
  /("(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')|(?<!(?:[<>]=?|[=!]=)\s*)(?<![\w.])(\d{3,})(?![\w])/g;

/** Neither a form of dates, such as %B %d, nor a mark. */
function hasWords(text: string): boolean {
  return LETTER.test(text.replace(/%[-_^#0:]*\w/g, " "));
}
