import { Tokenizer, TokenKind } from "liquidjs";

/** One of our links, which begins an address. */
const OUR_LINK = /^\s*(?:echo\s+)?(?:unsubscribe|preferences|inbox|game)_url\b/;
/** Filters that encode the value already, or mean it as it is. */
const ENCODING = /\|\s*(?:url_encode|cgi_escape|uri_escape|base64_url_safe_encode|raw)\b/;
/** The filters that encode a value, by the place that needs it. */
const FILTERS = { value: "in_query", path: "in_path" } as const;

/** The encoding of a text by each filter. */
export const ENCODINGS: Readonly<Record<(typeof FILTERS)[keyof typeof FILTERS], (text: string) => string>> = {
  in_query: encodeURIComponent,
  // A value may be several steps of a path, and be encoded already. It ends neither the path nor the address.
  in_path: (text) => text.replace(/[?#\s"<>\\]|%(?![0-9a-f]{2})/gi, encodeURIComponent),
};

/**
 * The source with each printed value of an address's path or query percent-encoded: `&` in a name would begin another
 * field, and `?` would end the path.
 */
export function withEncodedValues(source: string): string {
  // The variables whose values the template itself has encoded.
  const encoded = new Set<string>();
  const isEncoded = (tag: string) =>
    ENCODING.test(tag) || (tag.match(/[\w.-]+/g) ?? []).some((word) => encoded.has(word));
  let captured: string | undefined;
  let place: Place = "text";
  const printing = (value: string): string => {
    if (isEncoded(value)) {
      if (captured) encoded.add(captured);
      return value;
    }
    if (place === "text" && OUR_LINK.test(value)) place = "address";
    return place === "value" || place === "path" ? `${value} | ${FILTERS[place]}` : value;
  };
  const statement = (text: string): string => {
    const [, verb, name] = /^\s*(assign|capture|endcapture|echo)\b\s*["']?([\w-]*)/.exec(text) ?? [];
    if (verb === "assign" && isEncoded(text)) encoded.add(name!);
    if (verb?.endsWith("capture")) [captured, place] = [name, "text"];
    return verb === "echo" ? printing(text) : text;
  };
  const parts = new Tokenizer(source).readTopLevelTokens().map(({ kind, begin, end }) => {
    const part = source.slice(begin, end);
    if (kind === TokenKind.HTML) place = placeBehind(part, place);
    if (kind === TokenKind.Output) return inside(part, printing);
    return kind === TokenKind.Tag ? inside(part, statement) : part;
  });
  return parts.join("");
}

/** The tag with each of its statements, or its value, changed: `liquid` has one statement a line. */
function inside(tag: string, change: (text: string) => string): string {
  return tag.replace(
    /^(\{[{%]-?\s*(?:liquid\b)?)(.*?)(-?[%}]\})$/s,
    (_, open: string, body: string, close: string) => {
      const lines = open.endsWith("liquid") ? body.split("\n") : [body];
      return `${open}${lines.map(change).join("\n")}${close}`;
    },
  );
}

/** A place in a source: in no address, in one's host or behind it, in its path, or in a value of its query. */
type Place = "text" | "address" | "path" | "value";

function placeBehind(text: string, before: Place): Place {
  const pieces = text.split(/[\s"'<>]/);
  let place = pieces.length > 1 ? "text" : before;
  let rest = pieces.at(-1)!;
  if (place === "text") {
    const scheme = /https?:\/\/|\b(?:mailto|sms):/i.exec(rest);
    if (!scheme) return "text";
    place = "address";
    rest = rest.slice(scheme.index + scheme[0].length);
    if (!scheme[0].endsWith("//")) return behind(rest) ?? place;
  }
  return behind(rest) ?? (place === "address" && rest.includes("/") ? "path" : place);
}

/** The place behind the last sign of a query, where the text has one. */
function behind(text: string): Place | undefined {
  const last = /[?&#=](?=[^?&#=]*$)/.exec(text)?.[0];
  return last === undefined ? undefined : last === "=" ? "value" : "address";
}
