import { fieldWords } from "#runtime/operation/record-words.ts";
import { quoted, visible } from "#runtime/visible-text.ts";
import { plainText } from "#tools/templates/rendering/plain-text.ts";
import { addressesOf } from "./addresses.ts";
import { type SeenParts, seenParts } from "./seen-parts.ts";

/** A person who decides reads no more of one message. */
const MOST_CHARACTERS = 1_000;
const MOST_PICTURES = 5;
const MOST_ADDRESS = 200;

/** The parts of a message, rendered or as templates. */
export interface MessageParts {
  subject?: string | null | undefined;
  /** Before it is filled. A rendered one is hidden in the HTML. */
  preheader?: string | null | undefined;
  html?: string | null | undefined;
  text?: string | null | undefined;
  /** The offer, button and picture that the inbox shows. A notification takes its address from the button. */
  inbox?: object | null | undefined;
}

/** The words of a message's bodies for a person's consent, begun by `named`: those of the HTML are what most read. */
export function bodyWords({ preheader, html, text, inbox }: MessageParts, named: string): string[] {
  const parts = html ? seenParts(html) : null;
  // A text that is made of the HTML lacks the frame around it.
  const beside = text && !(parts && plainText(parts.whole).includes(text)) ? text : null;
  return [
    ...(preheader ? [`Its preview line: ${quoted(preheader, MOST_CHARACTERS)}`] : []),
    ...(parts ? partWords(parts, named) : []),
    ...(beside ? [`${named}${html ? " without HTML" : ""}: ${quoted(beside, MOST_CHARACTERS)}`] : []),
    ...(html ? pictureWords(html) : []),
    ...(inbox ? [`With it go ${fieldWords({ ...inbox })}.`] : []),
  ];
}

/** The words of a piece of HTML, also those that its styles hide or add, and the pictures that it loads. */
export function pieceWords(html: string): string[] {
  const { whole, outlook, added } = seenParts(html);
  return [plainText(whole), plainText(outlook), ...added, ...addressesOf(html, "load")];
}

/** The places of a document where a fragment may begin, and the mark by which it leaves them. */
const BEGINNINGS: readonly (readonly [begun: string, mark: RegExp])[] = [
  ["", /\S/],
  ["<i ", />/],
  ['<i x="', /"/],
  ["<i x='", /'/],
  ["<!--", /-->|--!>/],
  ["<style>", /<\/style/i],
  ["<script>", /<\/script/i],
  ["<title>", /<\/title/i],
];
/** Ends a tag, and a quoted value before it. */
const CLOSING = `"'>`;

/**
 * The words of a part of HTML that begins and ends anywhere, a tag or a comment included: first as it is read in a
 * text, with all its addresses, then by each other place until the time `isOver`.
 */
export function fragmentWords(html: string, isOver: () => boolean): string[][] {
  const read = BEGINNINGS.flatMap(([begun, mark]) =>
    !isOver() && mark.test(html) ? [pieceWords(`${begun}${html}${CLOSING}`).map(withoutClosing)] : [],
  );
  return [[...(read.shift() ?? []), ...addressesOf(`${html}${CLOSING}`, "open")], ...read];
}

function withoutClosing(words: string): string {
  return (words.endsWith(CLOSING) ? words.slice(0, -CLOSING.length) : words).trim();
}

const HIDDEN = "Words in it that its styles hide, on some screens or on all";
/** Mail programs show them beside the subject. */
const FIRST_HIDDEN = `${HIDDEN}, before all others: its preview line`;

/** Hidden words stand apart: they would push those that people see out of the part that is shown. */
function partWords({ seen, preview, hidden, outlook, added }: SeenParts, named: string): string[] {
  const said: [words: string, begun: string][] = [
    [plainText(seen), named],
    [visible(plainText(preview)).trim(), FIRST_HIDDEN],
    [plainText(hidden), HIDDEN],
    [plainText(outlook), "Words in it for Outlook alone"],
    [added.join(" "), "Words that its styles add"],
  ];
  return said.flatMap(([words, begun]) => (words ? [`${begun}: ${quoted(words, MOST_CHARACTERS)}`] : []));
}

/** Pictures can hold words too. */
function pictureWords(html: string): string[] {
  const addresses = addressesOf(html, "load");
  if (addresses.length === 0) return [];
  const shown = addresses.slice(0, MOST_PICTURES).map((address) => quoted(address, MOST_ADDRESS));
  const more = addresses.length - shown.length;
  return [`Pictures and styles in it: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`];
}

/** The whole words of one message. A message without a subject is its text. */
export function messageWords({ subject, ...bodies }: MessageParts, named: string): string[] {
  if (subject) return [`${named}: ${quoted(subject, MOST_CHARACTERS)}`, ...bodyWords(bodies, "Its text")];
  return bodyWords(bodies, named);
}
