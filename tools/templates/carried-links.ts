import { Tokenizer, TokenKind } from "liquidjs";

/** Links that open a player's own pages for whoever has them. */
const MENTION = /\b(?:unsubscribe|preferences|inbox|game)_url\b/;
const ALONE = /^\{\{-?\s*\w+\s*-?\}\}$/;
/** Tags and filters by which the place of a link can be another one than in the source. */
const MOVES = /\{%[^%]*\bcapture\b|\|\s*raw\b/;

/** A style sheet loads addresses, with blanks in them too. */
const SHEET = /^\/?(?:mj-)?style\b/i;
const LONGEST = "</mj-style>".length;

/**
 * Whether a text that parses may put a player's link into another address, whose owner would get it. A link is safe alone:
 * behind a blank, a bracket or a tag, and at the begin of an attribute.
 */
export function carriesLinks(source: string): boolean {
  if (!MENTION.test(source)) return false;
  if (MOVES.test(source)) return true;
  const place = placeIn();
  for (const { kind, begin, end } of new Tokenizer(source).readTopLevelTokens()) {
    const part = source.slice(begin, end);
    if (kind === TokenKind.HTML) place.read(part);
    else if (MENTION.test(part) && !(ALONE.test(part) && place.isSafe())) return true;
    else place.pass(kind === TokenKind.Tag);
  }
  return false;
}

/** Reads HTML letter by letter. After a part that mail readers may take in two ways every place is unsafe. */
function placeIn() {
  let quote: string | null = null;
  let isInTag = false;
  let isDoubtful = false;
  let last = " ";
  /** An attribute's value begins here. */
  let isBegin = false;
  /** The last letter but blanks. */
  let mark = " ";
  let isInSheet = false;
  const read = (letter: string, behind: string) => {
    if (quote !== null) {
      isDoubtful ||= letter === "<" || letter === ">";
      if (letter === quote) quote = null;
    } else if (isInTag) {
      isDoubtful ||= letter === "<";
      if (letter === ">") isInTag = false;
      else if (letter === '"' || letter === "'") quote = letter;
    } else if (letter === "<") {
      // A tag of Liquid follows, and decides how readers take the letter.
      isDoubtful ||= behind === "";
      isInTag = /^[a-z/]/i.test(behind);
      if (SHEET.test(behind)) isInSheet = !behind.startsWith("/");
    }
  };
  return {
    read: (html: string) => {
      for (let at = 0; at < html.length; at++) {
        const letter = html.charAt(at);
        const wasOpen = quote !== null;
        read(letter, letter === "<" ? html.slice(at + 1, at + LONGEST) : "");
        isBegin = !wasOpen && quote !== null && mark === "=";
        last = letter;
        if (letter.trim() !== "") mark = letter;
      }
    },
    /** A tag of Liquid inside one of HTML may leave out one of its quotes. */
    pass: (isTag: boolean) => {
      isDoubtful ||= isTag && isInTag;
      if (isTag) return;
      last = mark = "}";
      isBegin = false;
    },
    isSafe: () => !(isDoubtful || isInSheet) && (quote === null ? !isInTag && /[\s>(]/.test(last) : isBegin),
  };
}
