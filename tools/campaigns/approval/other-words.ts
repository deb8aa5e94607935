import { quoted } from "#runtime/visible-text.ts";

/** A person who decides reads no more. */
const MOST_TEXTS = 20;
const MOST_CHARACTERS = 1_000;

const CONDITIONS = "It has conditions ({% if %}): other players may read other words.";
/** In JSON, which writes a break as two characters. A loop leaves its words out where a player has none of its items. */
const CONDITION = /\{%-?(?:\s|\\+(?:[nrtf]|u000b))*(?:if|unless|case|for|tablerow|capture|liquid)\b/;

/** The words of a message, before it is filled, that the shown one lacks: other players or another day may bring them. */
export function otherWords(sources: object, shown: string[]): string[] {
  const seen = shown.join("\n");
  const texts = [...new Set(stringsIn(sources).flatMap(textsInTags))];
  const others = texts.filter((text) => hasWords(text) && !seen.includes(text));
  const named = others.slice(0, MOST_TEXTS).map((text) => quoted(text, MOST_CHARACTERS));
  const more = others.length > MOST_TEXTS ? ` and ${others.length - MOST_TEXTS} more` : "";
  return [
    ...(others.length > 0
      ? [`Words in its tags, which other players or another day may show: ${named.join(", ")}${more}.`]
      : []),
    ...(CONDITION.test(JSON.stringify(sources)) ? [CONDITIONS] : []),
  ];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

/** The quoted texts in the Liquid tags of a source, as Liquid reads them. */
function textsInTags(source: string): string[] {
  const texts: string[] = [];
  const next = (pattern: RegExp, from: number) => {
    pattern.lastIndex = from;
    return pattern.exec(source);
  };
  let isInside = false;
  for (
    let found = next(OPENING, 0);
    found;
    found = next(isInside ? INSIDE : OPENING, found.index + found[0].length)
  ) {
    const [, text] = found;
    if (text === undefined) isInside = !isInside;
    else texts.push(text.slice(1, -1));
  }
  return texts;
}

const OPENING = /\{[{%]/g;
const INSIDE = /("(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')|[%}]\}/g;

/** Neither a form of dates, such as %B %d, nor a mark. */
function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]{2}/u.test(text.replace(/%[-_^#0:]*\w/g, " "));
}
