/** An attribute's value, quoted or bare, as three alternative groups. */
export const VALUE = String.raw`\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))`;
/** A comment, which Outlook reads if it begins with [if; a style sheet; or a tag. */
const PART =
  /<!--(?:-?>|(?!\[if)(?:.*?-->|.*))|<style(?![\w-])(?:.*?<\/style|.*)|<([a-z][\w:-]*)(?:"[^"]*"|'[^']*'|[^'"<>])*>/gis;
const ATTRIBUTE = new RegExp(String.raw`([^\s"'<>/=]+)(?:${VALUE})?`, "g");

/** A tag that a mail reader takes for one. */
interface Tag {
  name: string;
  /** Values as written. A name that stands twice is here twice. */
  attributes: { name: string; value: string }[];
}

/** The tags of HTML, and the texts of its style sheets. */
function tagsIn(html: string): { tags: Tag[]; sheets: string[] } {
  const tags: Tag[] = [];
  const sheets: string[] = [];
  for (const [part, name] of html.matchAll(PART)) {
    if (/^<style/i.test(part)) sheets.push(part);
    else if (name !== undefined) tags.push({ name, attributes: attributesOf(part.slice(1 + name.length)) });
  }
  return { tags, sheets };
}

function attributesOf(text: string): Tag["attributes"] {
  return [...text.matchAll(ATTRIBUTE)].map(([, name = "", ...values]) => ({ name, value: given(values) }));
}

/** The texts of the style sheets, one after the other. */
export function sheetsIn(html: string): string {
  return tagsIn(html)
    .sheets.map((sheet) => sheet.replace(/^<style[^>]*>|<\/style$/gi, ""))
    .join("\n");
}

/** The value of an attribute, of its alternative groups. */
function given(values: readonly (string | undefined)[]): string {
  return values.find((value) => value !== undefined) ?? "";
}

const OPENED = String.raw`\b(?:href|(?:form)?action)`;
const LOADED = String.raw`(?<![\w-])(?:src|(?:image)?srcset|background|poster|data|lowsrc|dynsrc|ping|codebase|manifest)`;
const OPENING = new RegExp(OPENED + VALUE, "gi");
const LOADING = new RegExp(`(${LOADED})${VALUE}`, "gi");
const IN_STYLE = /\burl\(\s*(?:"([^"]*)"|'([^']*)'|([^\s"'()]+))|@import\s+(?:"([^"]*)"|'([^']*)')/gi;

/** The values that a pattern with alternative groups finds, as a mail reader takes them. */
export function valuesOf(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(([, ...values]) => addressIn(given(values)));
}

const ENTITIES: Readonly<Record<string, string>> = {
  colon: ":",
  tab: "",
  newline: "",
  amp: "&",
  sol: "/",
  quot: "",
  apos: "",
};

/** An attribute's address as a mail reader takes it: entities read, and without what it passes over. */
function addressIn(attribute: string): string {
  if (!/[&"'\s\p{Cc}]/u.test(attribute)) return attribute;
  const read = attribute.replace(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));?/gi,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole;
      const code = Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : "";
    },
  );
  return read.replace(/[\p{Cc}\s]/gu, "").replace(/^["']+/, "");
}

/** An address in HTML: a person opens it, or the mail reader loads it. */
interface Address {
  url: string;
  use: "open" | "load";
}

/**
 * All addresses of the HTML: those of tags and styles, then each text that looks like one. Broken HTML is read in many
 * ways, so both are judged: that protects.
 */
export function addressesIn(html: string): Address[] {
  return [
    ...markedUp(html, LOADS),
    ...valuesOf(html, OPENING).map(open),
    ...[...html.matchAll(LOADING)].flatMap(([, name = "", ...values]) => load(name, given(values))),
    ...styled(html),
  ];
}

/** Every address that a person opens in the HTML, or that it loads by itself, once, in order. */
export function addressesOf(html: string, use: Address["use"]): string[] {
  return [...new Set(addressesIn(html).flatMap((one) => (one.use === use ? [one.url] : [])))];
}

/** The addresses that a mail reader opens or shows: those of its tags and styles alone. */
export function shownIn(html: string): Address[] {
  return markedUp(html, SHOWS);
}

const OPENS = /^(?:(?:xlink:)?href|(?:form)?action)$/i;
const SHOWS = /^(?:src|(?:image)?srcset|background|poster|lowsrc|dynsrc)$/i;
const LOADS = new RegExp(`${SHOWS.source}|^(?:data|ping|codebase|manifest)$`, "i");

/** The addresses of style sheets, and of tags in attributes that people open or whose names match. */
function markedUp(html: string, loads: RegExp): Address[] {
  const { tags, sheets } = tagsIn(html);
  const ofTags = tags.flatMap(({ attributes }) =>
    attributes.flatMap(({ name, value }) => {
      if (OPENS.test(name)) return [open(addressIn(value))];
      if (/^style$/i.test(name)) return styled(value);
      return loads.test(name) ? load(name, value) : [];
    }),
  );
  return [...ofTags, ...sheets.flatMap(styled)];
}

const open = (url: string): Address => ({ url, use: "open" });

function load(name: string, value: string): Address[] {
  const urls = /srcset$/i.test(name) ? candidatesOf(value) : [value];
  return urls.map((url) => ({ url: addressIn(url), use: "load" }));
}

function styled(css: string): Address[] {
  return valuesOf(css, IN_STYLE).map((url) => ({ url, use: "load" }));
}

/** The addresses of a `srcset`. Each ends at a blank; after it a comma begins the next one. */
function candidatesOf(srcset: string): string[] {
  return [...srcset.matchAll(/([^\s,]\S*)(?:(?<!,)[^,]*)?/g)].map(([, url]) => url!);
}

const OF_DATA = new RegExp(
  String.raw`(?:${OPENED}|${LOADED})\s*=\s*(?:"[^"]*|'[^']*)\{[{%]|\burl\((?:\s*"[^"]*|\s*'[^']*|[^()]*)\{[{%]|\|\s*raw\b`,
  "i",
);
/** A bare value is read once: one that begins within it ends with it. */
const BARE = new RegExp(String.raw`(?:${OPENED}|${LOADED})\s*=\s*([^\s"'<>]+)`, "gi");
const OF_OURS = /\{\{-?\s*(?:unsubscribe_url|preferences_url|inbox_url|game_url|property\.\w+)\s*-?\}\}/g;

/** Whether players' data makes an address of the source, so that each message must be looked at. */
export function hasLinksOfData(html: string): boolean {
  const others = html.replace(OF_OURS, "");
  return OF_DATA.test(others) || [...others.matchAll(BARE)].some(([, value]) => /\{[{%]/.test(value!));
}
