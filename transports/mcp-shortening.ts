import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Operation } from "#runtime/operation.ts";
import { MOST_TOKENS, tokensAtMost } from "./mcp-tokens.ts";
import { placesOf } from "./rest-places.ts";

/** Tokens of a result that are left to its sentences. */
const FOR_SENTENCES = 1_200;
const SENTENCE_CHARACTERS = 500;
export const MOST_STRUCTURED = MOST_TOKENS - FOR_SENTENCES;
const SHOWN_CUTS = 20;

/** What is not shown of one value: of a text characters, of a list or a record entries. */
interface Cut {
  field: string;
  characters?: number;
  entries?: number;
  shown: number;
}

interface Shortened {
  value: Record<string, unknown>;
  cuts: Cut[];
}

interface Limits {
  characters: number;
  entries: number;
}

/** Texts are cut first, from the longest downwards; ids, addresses and names never. */
const SHORTEST: Limits = { characters: 250, entries: Number.POSITIVE_INFINITY };
const TEXTS = [32_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250].map(
  (characters): Limits => ({ ...SHORTEST, characters }),
);
const LISTS = [1_000, 500, 200, 100, 50, 20, 10, 5, 2, 1].map(
  (entries): Limits => ({ ...SHORTEST, entries }),
);
/** What a caller can only use whole. */
const KEPT = new Set(["page", "columns", "confirm_token"]);

const measured = new WeakMap<object, number>();

/** A bound on the tokens of structured content; a long page is measured once, where it is cut. */
export function sizeOf(structured: object): number {
  const size = measured.get(structured) ?? measure(structured);
  measured.set(structured, size);
  return size;
}

function measure(structured: object): number {
  const json = JSON.stringify(structured);
  // No token is shorter than a byte.
  const bytes = Buffer.byteLength(json);
  return bytes <= MOST_STRUCTURED ? bytes : tokensAtMost(json);
}

const fits = (structured: object) => sizeOf(structured) <= MOST_STRUCTURED;

/**
 * A result of whatever effect that an agent can hold: what has been done is never refused for the length of its
 * answer. What was left out is named in `shortened`, with the way to see it.
 */
export function fittedResult<R extends Partial<CallToolResult>>(result: R, operation?: Operation): R {
  const { structuredContent, content = [] } = result;
  const structured = structuredContent as Record<string, unknown> | undefined;
  if (!structured || (fits(structured) && content.every(isShort))) return result;
  const made = shorten(structured, wholeOf(structured, operation));
  return { ...result, structuredContent: made, content: content.map((part) => shortSentences(part, made)) };
}

type Part = CallToolResult["content"][number];

function isShort(part: Part): boolean {
  return (
    part.type !== "text" ||
    part.text.length <= SENTENCE_CHARACTERS ||
    tokensAtMost(part.text) <= FOR_SENTENCES
  );
}

function shortSentences(part: Part, { shortened }: Record<string, unknown>): Part {
  if (part.type !== "text") return part;
  const text = isShort(part) ? part.text : `${startOfText(part.text, SENTENCE_CHARACTERS)}…`;
  if (shortened === undefined) return { ...part, text };
  const [first, ...rest] = text.split("\n");
  return { ...part, text: [`${first} It was shortened: see shortened.`, ...rest].join("\n") };
}

/** How all of a result can be seen. What has been done is not to be done again for that. */
function wholeOf(structured: Record<string, unknown>, operation?: Operation): string {
  const [path, method] = (operation && placesOf(operation)[0]) ?? ["", ""];
  const place = `${method.toUpperCase()} ${path}`;
  if (operation?.effect === "read") return `Over REST, ${place} answers all of it.`;
  if (structured.dry_run === true || structured.confirmation_required === true) {
    return `Over REST, ${place} with dry_run = true answers all of it.`;
  }
  const table = operation?.crud?.table.name;
  return table
    ? `Over REST, GET /api/${table}/{id} answers all of it.`
    : "Over REST, the record can be read whole.";
}

/** The record made shorter, only as far as it has to be; in `shortened` all that was left out, and how to see it. */
export function shorten(structured: Record<string, unknown>, whole: string): Record<string, unknown> {
  let made = structured;
  if (fits(made)) return made;
  const allLimits = fits(cutRoot(structured, SHORTEST).value) ? TEXTS : LISTS;
  for (const limits of allLimits) {
    if (fits(made)) break;
    const { value, cuts } = cutRoot(structured, limits);
    const more = cuts.length - SHOWN_CUTS;
    made = {
      ...value,
      shortened: { fields: cuts.slice(0, SHOWN_CUTS), ...(more > 0 && { more_fields: more }), whole },
    };
  }
  return made;
}

function cutRoot(structured: Record<string, unknown>, limits: Limits): Shortened {
  const cuts: Cut[] = [];
  const kept = Object.entries(structured).map(([name, one]) => [
    name,
    KEPT.has(name) ? one : cutTo(one, limits, name, cuts),
  ]);
  return { value: Object.fromEntries(kept), cuts };
}

function cutTo(value: unknown, limits: Limits, field: string, cuts: Cut[]): unknown {
  if (typeof value === "string") {
    if (value.length <= limits.characters) return value;
    const text = startOfText(value, limits.characters);
    cuts.push({ field, characters: value.length, shown: text.length });
    return `${text}…`;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const shown = Math.min(entries.length, limits.entries);
  if (shown < entries.length) cuts.push({ field, entries: entries.length, shown });
  const isList = Array.isArray(value);
  const kept = entries.slice(0, shown).map(([name, one]): [string, unknown] => {
    return [name, cutTo(one, limits, isList ? `${field}[${name}]` : `${field}.${name}`, cuts)];
  });
  return isList ? kept.map(([, one]) => one) : Object.fromEntries(kept);
}

/** The start of a text, with no character halved. */
function startOfText(text: string, most: number): string {
  const start = text.slice(0, most);
  return start.isWellFormed() ? start : start.slice(0, -1);
}
