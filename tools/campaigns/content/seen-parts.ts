import { Parser } from "htmlparser2";
import { sheetsIn } from "./addresses.ts";
import { effectOn, readSheets, type Sheets } from "./styles.ts";

/** A message's HTML by whether people see it. */
export interface SeenParts {
  seen: string;
  /** Hidden before all that is seen: mail programs show it beside the subject. */
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
  /** It has no words for people. */
  isMute: boolean;
  color: string;
  background: string;
}

/** Browsers nest no deeper. */
const MOST_NESTED = 512;
/** Characters after which the depth is looked at: the parser's time grows by its square. */
const CHUNK = 4_000;

const PAGE: Element = { isGone: false, isMute: false, color: "000000", background: "ffffff" };
const MUTE = /^(?:head|style|script|title|template)$/;
const OUTLOOK = /^\[if [^\]]*\]>(.*)<!\[endif\]$/is;

/**
 * Parts HTML by what its styles may hide. Of a style sheet's selector it reads the last part alone, and it takes a rule
 * for one screen as one for all.
 */
export function seenParts(html: string): SeenParts {
  const sheets = readSheets(sheetsIn(html));
  const parts: SeenParts = { seen: "", preview: "", hidden: "", outlook: "", added: sheets.added };
  const open: Element[] = [PAGE];
  let done = 0;
  let begun = false;
  const isSeen = () => {
    const { isGone, color, background } = open.at(-1)!;
    return !isGone && color !== background;
  };
  const take = (end: number) => {
    parts[isSeen() ? "seen" : begun ? "hidden" : "preview"] += html.slice(done, end);
    done = Math.max(done, end);
  };
  const parser = new Parser({
    onopentag: (name, attributes) => {
      take(parser.startIndex);
      open.push(elementOf(name, attributes, open.at(-1)!, sheets));
      begun ||= name === "img" && isSeen();
    },
    ontext: (text) => {
      begun ||= !open.at(-1)!.isMute && isSeen() && text.trim() !== "";
    },
    onclosetag: (name, isImplied) => {
      take(isImplied && name !== "img" ? parser.startIndex : parser.endIndex + 1);
      if (open.length > 1) open.pop();
    },
    oncomment: (comment) => {
      parts.outlook += OUTLOOK.exec(comment)?.[1] ?? "";
    },
  });
  for (let at = 0; at < html.length && open.length <= MOST_NESTED; at += CHUNK) {
    parser.write(html.slice(at, at + CHUNK));
  }
  // What stands deeper is said to be hidden.
  if (open.length > MOST_NESTED) open.push({ ...PAGE, isGone: true });
  else parser.end();
  take(html.length);
  return parts;
}

function elementOf(
  name: string,
  attributes: Record<string, string>,
  around: Element,
  sheets: Sheets,
): Element {
  const { isHiding, color, background } = effectOn(name, attributes, sheets);
  return {
    isGone: around.isGone || isHiding,
    isMute: around.isMute || MUTE.test(name),
    color: color ?? around.color,
    background: background ?? around.background,
  };
}
