import { Parser } from "htmlparser2";
import { TURNING } from "#runtime/visible-text.ts";
import { sheetsIn } from "./addresses.ts";
import { type Effect, effectOn, readSheets } from "./styles.ts";

/**
 * A message's HTML by whether people see it. It is written anew, with the words, links and pictures' texts alone, so that
 * nobody reads it in another way than mail programs read the message.
 */
export interface SeenParts {
  whole: string;
  seen: string;
  /** Hidden before all that is seen. */
  preview: string;
  hidden: string;
  /** Shown by Outlook alone. */
  outlook: string;
  /** Texts that style sheets show beside the HTML's. */
  added: string[];
}

/** An open element. */
interface Element {
  isGone: boolean;
  isTiny: boolean;
  /** It has no words for people. */
  isMute: boolean;
  isDrawing: boolean;
  color: string;
  background: string;
}

/** Browsers nest no deeper. */
const MOST_NESTED = 512;
/** Characters after which the depth is looked at: the parser's time grows by its square. */
const CHUNK = 4_000;

const PAGE: Element = {
  isGone: false,
  isTiny: false,
  isMute: false,
  isDrawing: false,
  color: "000000",
  background: "ffffff",
};
const MUTE = /^(?:style|script|title|template)$/;
/** Outlook reads its settings there. */
const OUTLOOK_MUTE = /^(?:style|script|title|template|xml)$/;
/** In these, an element of HTML ends a style or a title, and is seen. */
const DRAWING = /^(?:svg|math)$/;
const OUTLOOK = /^\[if [^\]]*\]>(.*)<!\[endif\]\s*$/is;

/**
 * Parts HTML by what its styles may hide. Of a style sheet's selector it reads the last part alone, and it takes a rule
 * for one screen as one for all.
 */
export function seenParts(html: string): SeenParts {
  const parts = partsOf(html);
  return { ...parts, outlook: partsOf(parts.outlook, OUTLOOK_MUTE).whole };
}

function partsOf(html: string, mute = MUTE): SeenParts {
  const sheets = readSheets(sheetsIn(html));
  const parts: SeenParts = { whole: "", seen: "", preview: "", hidden: "", outlook: "", added: sheets.added };
  const open: Element[] = [PAGE];
  let begun = false;
  const take = (markup: string, isWord = false) => {
    const { isGone, isTiny, isMute, color, background } = open.at(-1)!;
    if (isMute) return;
    const isSeen = !isGone && !isTiny && color !== background;
    begun ||= isWord && isSeen;
    parts.whole += markup;
    parts[isSeen ? "seen" : begun ? "hidden" : "preview"] += markup;
  };
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        const around = open.at(-1)!;
        const effect = effectOn(name, attributes, sheets);
        const element = elementOf(name, effect, around);
        open.push({ ...element, isMute: around.isMute || (mute.test(name) && !around.isDrawing) });
        take(opening(nameOf(name), attributes), name === "img" || name === "input");
        if (name === "bdo" || effect.isTurning) take(TURNING);
      },
      ontext: (text) => take(escaped(text), text.trim() !== ""),
      onclosetag: (name, isImplied) => {
        if (!isImplied || name === "a") take(`</${nameOf(name)}>`);
        if (open.length > 1) open.pop();
      },
      oncomment: (comment) => {
        parts.outlook += OUTLOOK.exec(comment)?.[1] ?? "";
      },
    },
    { recognizeCDATA: true },
  );
  // Browsers end a comment so too.
  const read = html.replaceAll("--!>", "-->");
  let at = 0;
  for (; at < read.length && open.length <= MOST_NESTED; at += CHUNK)
    parser.write(read.slice(at, at + CHUNK));
  if (open.length <= MOST_NESTED) parser.end();
  else {
    // Words that stand deeper are said to be hidden.
    open.push({ ...PAGE, isGone: true });
    take(escaped(read.slice(at)));
  }
  // The preview line exists only before words that are seen.
  return begun ? parts : { ...parts, preview: "", hidden: parts.preview };
}

/** A drawing's style or title is read as text, by another name. */
const nameOf = (name: string) => (MUTE.test(name) ? "span" : name);

/** A tag with the words that people see by it. */
function opening(name: string, { href, alt, value, placeholder, type }: Record<string, string>): string {
  const kept = Object.entries({ href, alt }).flatMap(([key, text]) =>
    text === undefined ? [] : [` ${key}="${escaped(text)}"`],
  );
  const field = name === "input" && type !== "hidden" ? escaped(` ${value ?? placeholder ?? ""} `) : "";
  return `<${name}${kept.join("")}>${field}`;
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (one) => ESCAPES[one]!);
}

function elementOf(
  name: string,
  { isHiding, isTiny, color, background }: Effect,
  around: Element,
): Omit<Element, "isMute"> {
  return {
    isGone: around.isGone || isHiding,
    isTiny: isTiny ?? around.isTiny,
    isDrawing: around.isDrawing || DRAWING.test(name),
    color: color ?? around.color,
    background: background ?? around.background,
  };
}
