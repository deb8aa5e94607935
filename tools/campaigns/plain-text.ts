const HIDDEN = /^(?:head|style|script|title|template)$/;
const PARAGRAPH = /^(?:p|h[1-6]|ul|ol|table|blockquote|section|article|header|footer|pre|hr|center)$/;
const LINE = /^(?:br|div|tr|li|dt|dd|address|figure)$/;
const TAG = /^<(\/?)([a-z][a-z0-9]*)([^>]*)>$/i;

/**
 * The text of an HTML email: a line for each block, links as `text (address)`, entities decoded. Takes time in
 * proportion to the length, also for HTML that is broken on purpose.
 */
export function plainText(html: string): string {
  const pieces: string[] = [];
  let link: { start: number; url: string } | undefined;
  let position = 0;
  while (position < html.length) {
    const open = html.indexOf("<", position);
    pieces.push(words(html.slice(position, open < 0 ? html.length : open)));
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

function words(html: string): string {
  return decodeEntities(html.replace(/[ \t\r\n\f]+/g, " "));
}

/** Where the tag or the comment at `open` ends; just after its bracket where that is no markup. */
function endOfMarkup(html: string, open: number): number {
  if (!/[a-z/!?]/i.test(html.charAt(open + 1))) return open + 1;
  const closer = html.startsWith("<!--", open) ? "-->" : ">";
  const close = html.indexOf(closer, open);
  return close < 0 ? html.length : close + closer.length;
}

/** After the closing tag, or the end: as a browser reads a `<style>` that never ends. */
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
  return decodeEntities(found?.[1] ?? found?.[2] ?? found?.[3] ?? "").trim();
}

function tidy(text: string): string {
  const lines = text.split("\n").map((line) => line.replace(/[ \u00a0]+/g, " ").trim());
  return lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

const NAMED: Record<string, string> = {
  ...named(34, "quot"),
  ...named(38, "amp apos"),
  ...named(60, "lt"),
  ...named(62, "gt"),
  ...named(
    160,
    `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute
    micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig
    Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash
    Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute
    ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc
    uuml yacute thorn yuml`,
  ),
  ...named(338, "OElig oelig"),
  ...named(8194, "ensp emsp"),
  ...named(8204, "zwnj zwj lrm rlm"),
  ...named(8211, "ndash mdash"),
  ...named(8216, "lsquo rsquo sbquo"),
  ...named(8220, "ldquo rdquo bdquo"),
  ...named(8224, "dagger Dagger bull"),
  ...named(8230, "hellip"),
  ...named(8364, "euro"),
  ...named(8482, "trade"),
  ...named(8592, "larr uarr rarr darr"),
};

function named(first: number, names: string): Record<string, string> {
  return Object.fromEntries(
    names.split(/\s+/).map((name, index) => [name, String.fromCharCode(first + index)]),
  );
}

/** Text of HTML as it reads. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][a-z\d]{1,7}));/gi,
    (all, decimal, hex, name) => {
      if (name) return NAMED[name] ?? all;
      const point = decimal ? Number(decimal) : Number.parseInt(hex, 16);
      return point === 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)
        ? "\u{fffd}"
        : String.fromCodePoint(point);
    },
  );
}
