import { Tokenizer, TokenKind } from "liquidjs";

/** One of our links, which begins an address. */
const OUR_LINK = /^\{\{-?\s*(?:unsubscribe|preferences|inbox|game)_url\b/;
/** Filters that encode the value already, or mean it as it is. */
const ENCODING = /\|\s*(?:url_encode|cgi_escape|uri_escape|base64_url_safe_encode|raw)\b/;
/** The filter that encodes a value. */
export const IN_QUERY = "in_query";

/** The source with each printed value of an address's query percent-encoded: `&` in a name would begin another field. */
export function withEncodedValues(source: string): string {
  // The variables whose values the template itself has encoded.
  const encoded = new Set<string>();
  const isEncoded = (tag: string) =>
    ENCODING.test(tag) || (tag.match(/[\w.-]+/g) ?? []).some((word) => encoded.has(word));
  let captured: string | undefined;
  let place: Place = "text";
  const parts = new Tokenizer(source).readTopLevelTokens().map(({ kind, begin, end }) => {
    const part = source.slice(begin, end);
    if (kind === TokenKind.HTML) place = placeBehind(part, place);
    if (kind === TokenKind.Tag) {
      const [, verb, name] = /^\{%-?\s*(assign|capture|endcapture)\b\s*["']?([\w-]*)/.exec(part) ?? [];
      if (verb === "assign" && isEncoded(part)) encoded.add(name!);
      if (verb?.endsWith("capture")) [captured, place] = [name, "text"];
    }
    if (kind !== TokenKind.Output) return part;
    if (isEncoded(part)) {
      if (captured) encoded.add(captured);
      return part;
    }
    if (place === "text" && OUR_LINK.test(part)) place = "address";
    return place === "value" ? part.replace(/-?\}\}$/, ` | ${IN_QUERY} $&`) : part;
  });
  return parts.join("");
}

/** A place in a source: in no address, in an address, or in a value of its query. */
type Place = "text" | "address" | "value";

function placeBehind(text: string, before: Place): Place {
  const pieces = text.split(/[\s"'<>]/);
  let place = pieces.length > 1 ? "text" : before;
  let rest = pieces.at(-1)!;
  if (place === "text") {
    const scheme = /https?:\/\//i.exec(rest);
    if (!scheme) return "text";
    place = "address";
    rest = rest.slice(scheme.index);
  }
  const last = /[?&#=](?=[^?&#=]*$)/.exec(rest)?.[0];
  return last === undefined ? place : last === "=" ? "value" : "address";
}
