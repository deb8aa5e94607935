import { Fault, type FaultDetail } from "#runtime/faults.ts";

/** The bodies of a message, as written or as rendered. */
interface Bodies {
  html?: string | null | undefined;
  text?: string | null | undefined;
}

/** Something in a body that opens or loads what no message may. */
interface Flaw {
  body: keyof Bodies;
  message: string;
}

const VALUE = String.raw`\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))`;
const OPENED = String.raw`\b(?:href|(?:form)?action)`;
const LOADED = String.raw`(?<![\w-])(?:src|(?:image)?srcset|background|poster|data|lowsrc|dynsrc|ping|codebase|manifest)`;
const OPENING = new RegExp(OPENED + VALUE, "gi");
const LOADING = new RegExp(LOADED + VALUE, "gi");
const META = new RegExp(String.raw`\bhttp-equiv${VALUE}`, "gi");
const IN_STYLE = /\burl\(\s*(?:"([^"]*)"|'([^']*)'|([^\s"'()]+))|@import\s+(?:"([^"]*)"|'([^']*)')/gi;
const IN_TEXT = /http:\/\/\S*/i;

/** Elements that load a page of their own, move all links, or run code. */
const ELEMENTS =
  /<\s*\/?(iframe|frame|frameset|fencedframe|portal|object|embed|applet|base|script|animate|set)(?![\w-])/i;
const HANDLER = /<[a-z](?:"[^"]*"|'[^']*'|[^'"<>])*?[\s"'/](on[a-z]+)\s*=/i;

const TO_OPEN = /^(?:https|mailto|tel|sms):/i;
const TO_LOAD = /^(?:https:|cid:|data:image\/)/i;
const ANOTHER_PLACE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

/**
 * The first flaw of each body: an address that is not https, or a part that opens or loads one by itself. Addresses
 * below `baseUrl`, our own, may be plain.
 */
export function flawsIn({ html, text }: Bodies, baseUrl: string): Flaw[] {
  const inHtml = html ? flawOf(html.replaceAll(baseUrl, "")) : undefined;
  const inText = IN_TEXT.exec(text?.replaceAll(baseUrl, "") ?? "")?.[0];
  return [
    ...(inHtml ? [{ body: "html" as const, message: inHtml }] : []),
    ...(inText ? [{ body: "text" as const, message: notHttps("link", inText) }] : []),
  ];
}

function flawOf(html: string): string | undefined {
  const opened = valuesOf(html, OPENING).find((url) => isElsewhere(url, TO_OPEN));
  if (opened !== undefined) return notHttps("link", opened);
  const loaded = [...valuesOf(html, LOADING), ...valuesOf(html, IN_STYLE)]
    // A srcset names several.
    .flatMap((urls) => urls.split(","))
    .find((url) => isElsewhere(url, TO_LOAD));
  if (loaded !== undefined) return notHttps("loaded address", loaded);
  const element = ELEMENTS.exec(html)?.[1];
  if (element !== undefined) return `no message may have <${element.toLowerCase()}>`;
  if (valuesOf(html, META).some((name) => /refresh/i.test(name))) {
    return 'no message may have <meta http-equiv="refresh">, which opens another page';
  }
  const handler = HANDLER.exec(html)?.[1];
  return handler === undefined ? undefined : `no message may have code, such as ${handler.toLowerCase()}`;
}

function isElsewhere(url: string, fine: RegExp): boolean {
  return ANOTHER_PLACE.test(url) && !fine.test(url);
}

function notHttps(what: string, url: string): string {
  return `a ${what} is not https: ${url.slice(0, 200)}`;
}

/** The values that a pattern with alternative groups finds, as a mail reader takes them. */
function valuesOf(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map((groups) => addressIn(groups.slice(1).find(isText) ?? ""));
}

const isText = (group: string | undefined) => group !== undefined;

const DATA = String.raw`\s*=\s*(?:"[^"]*\{[{%]|'[^']*\{[{%]|[^\s"'<>]*\{[{%])`;
const OF_DATA = new RegExp(String.raw`(?:${OPENED}|${LOADED})${DATA}|\burl\([^)]*\{[{%]|\|\s*raw\b`, "i");
const OF_OURS = /\{\{-?\s*(?:unsubscribe_url|preferences_url|inbox_url|game_url|property\.\w+)\s*-?\}\}/g;

/** Whether players' data makes an address of the source, so that each message must be looked at. */
export function hasLinksOfData(html: string): boolean {
  return OF_DATA.test(html.replace(OF_OURS, ""));
}

/** Every address that the HTML leads to, once, in order; and whether a message may have it. Links to `baseUrl` may be plain. */
export function linksIn(html: string, baseUrl: string): { url: string; isAllowed: boolean }[] {
  return [...new Set(valuesOf(html, OPENING))].map((url) => ({
    url,
    isAllowed: TO_OPEN.test(url) || url.startsWith(baseUrl),
  }));
}

const ENTITIES: Readonly<Record<string, string>> = {
  colon: ":",
  tab: "",
  newline: "",
  amp: "&",
  sol: "/",
  quot: "",
};

/** An attribute's address as a mail reader takes it: entities read, and without what it passes over. */
function addressIn(attribute: string): string {
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

/** Throws `invalid`, naming the bodies, when one of several forms of a message has a flaw. */
export function checkLinks(forms: readonly Bodies[], baseUrl: string): void {
  const flaws = forms.flatMap((bodies) => flawsIn(bodies, baseUrl));
  const first = new Map(flaws.toReversed().map(({ body, message }) => [body, message]));
  const details = [...first].map(([field, message]): FaultDetail => ({ field, message }));
  const [one] = details;
  if (one) throw new Fault("invalid", { message: `${one.field}: ${one.message}`, details });
}
