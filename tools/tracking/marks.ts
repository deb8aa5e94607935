import { randomBytes } from "node:crypto";
import { decodeHTMLStrict } from "entities";
import { Tokenizer, TokenKind } from "liquidjs";
import { isWebAddress } from "./utm.ts";

/** A link in a template. */
export interface MarkedLink {
  /** The address, or its template. */
  url: string;
  /** Liquid makes the address anew for each recipient. */
  isTemplate: boolean;
}

/** A template's HTML with marks around the address of each web link, and one for the pixel. */
export interface MarkedHtml {
  source: string;
  links: MarkedLink[];
  /** Rendered HTML without the marks. */
  clean(html: string): string;
  /** Rendered HTML with each marked address replaced. `link` takes and answers HTML. */
  replace(html: string, link: (number: number, value: string) => string, pixel: string): string;
}

// Characters of the private use area: no text has them. The nonce guards against a text that has them on purpose.
const OPEN = "\uE000";
const CLOSE = "\uE001";
const LIQUID = "\uE002";
// Our own links, and the one that the law requires.
const OWN = /^\s*\{\{-?\s*(?:unsubscribe_url|preferences_url|property\.privacy_policy_url)\b/;

/** Marks the links of a Liquid template's HTML. The time is proportional to the length. */
export function markLinks(source: string): MarkedHtml {
  const nonce = randomBytes(6).toString("hex");
  const masked = withoutLiquid(source);
  const links = new Map<string, { number: number; link: MarkedLink }>();
  const pieces: string[] = [];
  let position = 0;
  for (const [start, end] of addressesIn(masked)) {
    const text = source.slice(start, end);
    const isTemplate = masked.slice(start, end).includes(LIQUID);
    const url = isTemplate ? text : decodeHTMLStrict(text).trim();
    if (OWN.test(text) || !(isTemplate || isWebAddress(url))) continue;
    const known = links.get(url) ?? { number: links.size, link: { url, isTemplate } };
    links.set(url, known);
    pieces.push(source.slice(position, start), `${OPEN}${nonce}:${known.number}${CLOSE}`, text);
    pieces.push(`${OPEN}${nonce}/${CLOSE}`);
    position = end;
  }
  pieces.push(source.slice(position));
  const marks = new RegExp(
    `${OPEN}${nonce}:(\\d+)${CLOSE}([^${OPEN}${CLOSE}<>]*)${OPEN}${nonce}/${CLOSE}|${OPEN}${nonce}(!?)[^${CLOSE}]*${CLOSE}`,
    "g",
  );
  return {
    source: withPixel(pieces.join(""), `${OPEN}${nonce}!${CLOSE}`),
    links: Array.from(links.values(), ({ link }) => link),
    clean: (html) => html.replace(marks, (_mark, _number, value = "") => value),
    replace: (html, link, pixel) =>
      html.replace(marks, (_mark, number, value, isPixel) =>
        number === undefined ? (isPixel ? pixel : "") : link(Number(number), value),
      ),
  };
}

/** The same length, with one letter for every character of Liquid: quotes in Liquid are no HTML. */
function withoutLiquid(source: string): string {
  return new Tokenizer(source)
    .readTopLevelTokens()
    .map((token) =>
      token.kind === TokenKind.HTML
        ? source.slice(token.begin, token.end)
        : LIQUID.repeat(token.end - token.begin),
    )
    .join("");
}

function withPixel(html: string, pixel: string): string {
  const end = [...html.matchAll(/<\/body/gi)].at(-1)?.index ?? html.length;
  return html.slice(0, end) + pixel + html.slice(end);
}

const NAME = /[a-z][^\s/>]*/iy;
// Elements that browsers follow, and the shapes of Outlook's buttons.
const LINKING = /^(?:a|area|v:\w+)$/;
const TEXT_ONLY = /^(?:script|style|title|textarea|xmp|iframe|noembed|noframes|plaintext)$/;

/** The positions of the values of `href`, in order. Outlook reads conditional comments as markup. */
function* addressesIn(html: string): Generator<[number, number]> {
  for (let position = html.indexOf("<"); position >= 0; position = html.indexOf("<", position)) {
    NAME.lastIndex = position + 1;
    const name = NAME.exec(html)?.[0].toLowerCase();
    if (name === undefined) {
      position = afterOther(html, position);
      continue;
    }
    const tag = tagFrom(html, position + 1 + name.length);
    position = tag.end;
    if (LINKING.test(name)) yield* tag.addresses;
    if (TEXT_ONLY.test(name)) position = afterText(html, name, position);
  }
}

function afterOther(html: string, open: number): number {
  const isComment = html.startsWith("<!--", open) && !/^\s*\[if\b/i.test(html.slice(open + 4, open + 20));
  const closer = isComment ? "-->" : /[!?/]/.test(html.charAt(open + 1)) ? ">" : "";
  const close = html.indexOf(closer, open + 1);
  return close < 0 ? html.length : close + closer.length;
}

function afterText(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, "gi");
  closing.lastIndex = from;
  return closing.test(html) ? closing.lastIndex : html.length;
}

const GAP = /[\s/]*/y;
const ATTRIBUTE = /[^\s/>=]+|=[^\s/>=]*/y;
const EQUALS = /\s*=\s*/y;
const UNQUOTED = /[^\s>]*/y;

/** The addresses of a tag, read from the end of its name, and the tag's end. Liquid may leave one of several. */
function tagFrom(html: string, from: number): { addresses: [number, number][]; end: number } {
  const addresses: [number, number][] = [];
  let position = from;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = position;
    const text = pattern.exec(html)?.[0] ?? "";
    position += text.length;
    return text;
  };
  while (position < html.length) {
    take(GAP);
    if (html[position] === ">") return { addresses, end: position + 1 };
    const name = take(ATTRIBUTE).replaceAll(LIQUID, "").toLowerCase();
    if (take(EQUALS) === "") continue;
    const quote = /["']/.test(html.charAt(position)) ? html.charAt(position) : "";
    const start = position + quote.length;
    const close = quote ? html.indexOf(quote, start) : start + take(UNQUOTED).length;
    const end = close < 0 ? html.length : close;
    position = end + quote.length;
    if (name === "href") addresses.push([start, end]);
  }
  return { addresses, end: html.length };
}
