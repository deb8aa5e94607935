import { LRUCache } from "lru-cache";
import type { Context } from "#runtime/operation/context.ts";

/** The request of a text. `review`: a person must read it. `ignore`: none, although it looks like one. */
export const KEYWORD_ACTIONS = ["stop", "start", "help", "review", "ignore"] as const;
/** The position of a keyword: alone, at the beginning, or anywhere in the text. */
export const KEYWORD_MATCHES = ["message", "beginning", "anywhere"] as const;

export interface Keyword {
  text: string;
  action: (typeof KEYWORD_ACTIONS)[number];
  match: (typeof KEYWORD_MATCHES)[number];
  language: string | null;
  /** `protected`: a keyword by law; a property cannot change its meaning. */
  origin: "protected" | "default" | "property";
}

export interface KeywordMatch {
  action: "stop" | "start" | "help" | "review" | "none";
  /** The keyword that decided it. */
  matched: Keyword | null;
}

/** The keywords for a property's texts: its own, and the defaults. */
export async function keywordsOf({ sql, property }: Pick<Context, "sql" | "property">): Promise<Keyword[]> {
  return await sql<Keyword[]>`
    select text, action, match, language, case when is_protected then 'protected' else 'default' end as origin
    from sms_keyword_defaults
    union all
    select text, action, match, language, 'property' from sms_keywords where property_id = ${property.id}
    order by origin desc, action, match, text`;
}

/**
 * The request of a text. Whole messages that the law names are STOP, before everything else. Then come the property's
 * whole messages, the defaults, the text's beginning, and the words anywhere in it. In doubt a person reviews it, which
 * holds sends to the number: no unclear text counts as consent.
 */
export function readText(text: string, keywords: readonly Keyword[]): KeywordMatch {
  const words = wordsOf(text);
  if (words.length === 0) return { action: "none", matched: null };
  const written: Written = { words, polite: withoutCourtesies(words) };
  const known = keywords.map((keyword) => ({ keyword, words: keywordWords(keyword.text) }));
  for (const applies of [isProtected, isOwnMessage, isMessage, isBeginning, isAnywhere]) {
    const found = known.filter((one) => applies(one, written)).map(({ keyword }) => keyword);
    const [matched] = found.sort(byCaution);
    if (matched) return { action: matched.action === "ignore" ? "none" : matched.action, matched };
  }
  return { action: "none", matched: null };
}

/** More than the defaults in all languages, and those of some properties. */
const MOST_KEPT = 5_000;
const kept = new LRUCache<string, readonly string[]>({ max: MOST_KEPT });

/** As `wordsOf`. Each text is compared with all keywords, whose words would otherwise be read anew each time. */
export function keywordWords(keyword: string): readonly string[] {
  const known = kept.get(keyword);
  if (known) return known;
  const words = wordsOf(keyword);
  kept.set(keyword, words);
  return words;
}

/** Keywords in their form for comparison: upper case, without accents, punctuation and spaces. */
export function formOf(text: string): string {
  return wordsOf(text).join("");
}

interface Written {
  words: string[];
  /** Without courtesy words such as please and thank you at both ends. */
  polite: string[];
}

interface Known {
  keyword: Keyword;
  words: readonly string[];
}

type Applies = (known: Known, written: Written) => boolean;

const isMessage: Applies = (known, written) => known.keyword.match === "message" && isWhole(known, written);
const isProtected: Applies = (known, written) =>
  known.keyword.origin === "protected" && isMessage(known, written);
const isOwnMessage: Applies = (known, written) =>
  known.keyword.origin === "property" && isMessage(known, written);
const isBeginning: Applies = ({ keyword, words }, written) =>
  keyword.match === "beginning" && [written.words, written.polite].some((some) => beginsWith(some, words));
const isAnywhere: Applies = ({ keyword, words }, written) =>
  keyword.match === "anywhere" &&
  written.words.some((_, index) => beginsWith(written.words.slice(index), words));

// START must be the exact text: a longer text could mean something else.
const EXACT: readonly Keyword["action"][] = ["start", "ignore"];

/** The words alone, without their spacing and repetition. */
function isWhole({ keyword, words }: Known, written: Written): boolean {
  const form = words.join("");
  const forms = EXACT.includes(keyword.action) ? [written.words] : [written.words, written.polite];
  return forms.some(
    (some) =>
      some.join("") === form ||
      (some.length > 1 && some.every((one) => one === form)) ||
      isRepeated(some, words),
  );
}

/** Words of several parts said again and again, as those of Chinese are. */
function isRepeated(written: readonly string[], words: readonly string[]): boolean {
  if (words.length === 0 || written.length % words.length !== 0) return false;
  return written.every((word, index) => word === words[index % words.length]);
}

function beginsWith(words: readonly string[], beginning: readonly string[]): boolean {
  return beginning.length > 0 && beginning.every((word, index) => words[index] === word);
}

function byCaution(a: Keyword, b: Keyword): number {
  return CAUTION.indexOf(a.action) - CAUTION.indexOf(b.action);
}

const CAUTION: readonly Keyword["action"][] = ["stop", "review", "help", "ignore", "start"];

const HAN = /\p{Script=Han}/u;

/**
 * The words of a text in upper case, without accents, punctuation, emoji and invisible characters. No space parts
 * Chinese words, so each character is one.
 */
export function wordsOf(text: string): string[] {
  const plain = text
    .toWellFormed()
    .normalize("NFKC")
    .replace(/[\u{1F6D1}\u{26D4}\u{1F6AB}]/gu, " STOP ")
    .replace(/[\u{1F150}-\u{1F169}\u{1F170}-\u{1F189}\u{1F1E6}-\u{1F1FF}]/gu, plainLetter)
    .normalize("NFD")
    .replace(/[\p{M}\p{Cf}'’‘`´ʼ]/gu, "")
    .normalize("NFC")
    .toUpperCase();
  const words = plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  return joinSpelled(words.flatMap((word) => word.match(/\p{Script=Han}|\P{Script=Han}+/gu) ?? []));
}

/** Circled and squared letters, and letters of flags. */
function plainLetter(letter: string): string {
  const point = letter.codePointAt(0)!;
  const first = [0x1f1e6, 0x1f170, 0x1f150].find((start) => point >= start)!;
  return String.fromCharCode(65 + point - first);
}

/** S T O P is a word that was spelled out. */
function joinSpelled(words: string[]): string[] {
  const joined: string[] = [];
  let run: string[] = [];
  const close = () => {
    joined.push(...(run.length > 2 ? [run.join("")] : run));
    run = [];
  };
  for (const word of words) {
    if ([...word].length === 1 && !HAN.test(word)) run.push(word);
    else {
      close();
      joined.push(word);
    }
  }
  close();
  return joined;
}

const BEFORE = phrases(
  `PLEASE PLS PLZ PLEAS KINDLY JUST HI HELLO HEY OK OKAY YO DEAR SIR MADAM GUYS NOW SO AND BUT
  CAN_YOU COULD_YOU WILL_YOU WOULD_YOU YOU_NEED_TO YOU_MUST YOU_HAVE_TO I_WANT_YOU_TO I_SAID I_TOLD_YOU_TO I_ASKED_YOU_TO
  WANT_TO I_WANT_TO POR_FAVOR FAVOR_DE SVP SIL_VOUS_PLAIT MERCI_DE BITTE HALLO 请 請 您好`,
);
const AFTER = phrases(
  `PLEASE PLS PLZ THANKS THX TY THANK_YOU NOW IMMEDIATELY ASAP ALREADY TODAY FOREVER SIR MADAM GUYS OK OKAY
  RIGHT_NOW AT_ONCE POR_FAVOR GRACIAS YA SVP SIL_VOUS_PLAIT MERCI BITTE DANKE 谢谢 謝謝`,
);

function phrases(list: string): string[][] {
  return list.split(/\s+/).map((phrase) => wordsOf(phrase.replaceAll("_", " ")));
}

function withoutCourtesies(words: string[]): string[] {
  let rest = words;
  for (;;) {
    const before = BEFORE.find((some) => some.length < rest.length && beginsWith(rest, some));
    const after = AFTER.find(
      (some) => some.length < rest.length && beginsWith(rest.slice(rest.length - some.length), some),
    );
    if (!before && !after) return rest;
    rest = before ? rest.slice(before.length) : rest.slice(0, rest.length - after!.length);
  }
}
