import { decodeHTMLStrict } from "entities";
import { stepped } from "#runtime/limits/turns.ts";

const HIDDEN = /^(?:style|script|title|template)$/;
const PARAGRAPH = /^(?:p|h[1-6]|ul|ol|table|blockquote|section|article|header|footer|pre|hr|center)$/;
const LINE = /^(?:br|div|tr|li|dt|dd|address|figure)$/;
const TAG = /^<(\/?)([a-z][a-z0-9]*)([^>]*)>$/i;

/**
 * The text of an HTML email: a line for each block, links as `text (address)`, entities decoded. The time is
 * proportional to the length, even for HTML that is broken on purpose.
 */
export function plainText(html: string): string {
  return stepped(
    () => textSteps(html),
    () => {
      const steps = textSteps(html);
      for (;;) {
        const { done, value } = steps.next();
        if (done) return value;
      }
    },
  );
}

/** Pieces after which others may work. */
const PIECES = 1_000;

function* textSteps(html: string): Generator<undefined, string> {
  const pieces: string[] = [];
  let link: { start: number; url: string } | undefined;
  let position = 0;
  while (position < html.length) {
    if (pieces.length % PIECES === PIECES - 1) yield;
    const open = html.indexOf("<", position);
    pieces.push(decoded(html.slice(position, open < 0 ? html.length : open)));
    if (open < 0) break;
    const end = endOfMarkup(html, open);
    const [, slash, tagName = "", attributes = ""] = TAG.exec(html.slice(open, end)) ?? [];
    const name = tagName.toLowerCase();
    position = end;
    if (end === open + 1) pieces.push("<");
    else if (HIDDEN.test(name) && slash === "") position = endOfElement(html, name, end);
    else if (name === "a") {
      if (link) pieces.push(labelled(pieces.splice(link.start).join(""), link.url));
      link = slash === "" ? { start: pieces.length, url: attribute(attributes, "href") } : undefined;
    } else pieces.push(replacement(name, slash === "/", attributes));
  }
  return tidy(pieces.join(""));
}

function decoded(html: string): string {
  return decodeHTMLStrict(html.replace(/[ \t\r\n\f]+/g, " "));
}

/** The end of the tag or the comment at `open`; just after the bracket if it begins no markup. */
function endOfMarkup(html: string, open: number): number {
  if (!/[a-z/!?]/i.test(html.charAt(open + 1))) return open + 1;
  const closer = html.startsWith("<!--", open) ? "-->" : ">";
  const close = html.indexOf(closer, open);
  return close < 0 ? html.length : close + closer.length;
}

/** The position after the closing tag, or the end of the text: browsers read an unclosed `<style>` so. */
function endOfElement(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, "gi");
  closing.lastIndex = from;
  return closing.test(html) ? endOfMarkup(html, closing.lastIndex - name.length - 2) : html.length;
}

function labelled(label: string, url: string): string {
  const shown = label.trim();
  if (url === "" || url.startsWith("#") || shown === url || `mailto:${shown}` === url) return label;
  return shown === "" ? url : `${label.trimEnd()} (${url})`;
}

function replacement(name: string, closing: boolean, attributes: string): string {
  if (PARAGRAPH.test(name)) return "\n\n";
  if (name === "li" && !closing) return "\n- ";
  if (LINE.test(name)) return "\n";
  if (name === "td" || name === "th") return " ";
  return name === "img" ? attribute(attributes, "alt") : "";
}

function attribute(attributes: string, name: string): string {
  const pattern =
    name === "href"
      ? /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))/i
      : /\salt\s*=\s*(?:"([^"]*)"|'([^']*)')/i;
  const found = pattern.exec(attributes);
  return decodeHTMLStrict(found?.[1] ?? found?.[2] ?? found?.[3] ?? "").trim();
}

function tidy(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/[ \u00a0]+/g, " ").trim());
  return lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
