import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Operation } from "#runtime/operation/operation.ts";
import { routesOf } from "#runtime/operation/rest-paths.ts";

/** The token limit of an answer, its sentences included. */
const MOST_TOKENS = 20_000;
/** Tokens of a result that are reserved for its sentences. */
const FOR_SENTENCES = 1_200;
const SENTENCE_CHARACTERS = 500;
/** Tokens of the words by which a person decides: an answer has them as text and as `message`. */
const FOR_QUESTION = 8_000;
/** A quoted text in them keeps as many characters. */
const SHORTEST_QUOTE = 40;
export const MOST_STRUCTURED = MOST_TOKENS - FOR_SENTENCES;
const SHOWN_CUTS = 20;

/** Texts are cut first, the longest before others; ids, addresses and names never. */
const LONGEST = 32_000;
const SHORTEST_TEXT = 250;
/** Values that are useless in part. */
const KEPT = new Set(["page", "columns", "confirm_token"]);

/** The omitted amount of one value: characters of a text, entries of a list or a record. */
interface Cut {
  field: string;
  characters?: number;
  entries?: number;
  shown: number;
}

/**
 * An upper bound of a text's tokens: three for four ASCII characters, one for each byte of others. Measured with o200k,
 * a byte of English is 0.23 tokens, of ids 0.61, of base64 0.68, of random ASCII 0.72, of rare ideographs 0.97.
 */
export function tokensAtMost(text: string): number {
  return Math.ceil(1.25 * Buffer.byteLength(text) - 0.5 * text.length);
}

/** As `tokensOf`, for structured content. */
export function sizeOf(structured: object): number {
  return tokensAtMost(JSON.stringify(structured));
}

const fits = (structured: object, most = MOST_STRUCTURED) => sizeOf(structured) <= most;

/**
 * Fits any result into the token limit: a finished change is never refused for the length of its answer. `shortened`
 * names the omitted parts, and how to read them.
 */
export function fittedResult<R extends Partial<CallToolResult>>(result: R, operation?: Operation): R {
  const { structuredContent, content = [] } = result;
  const structured = structuredContent as Record<string, unknown> | undefined;
  if (!structured || (fits(structured) && content.every(isShort))) return result;
  const whole = wholeOf(structured, operation);
  if (typeof structured.confirm_token === "string" && typeof structured.message === "string") {
    return { ...result, ...fittedQuestion({ ...structured, message: structured.message }, content, whole) };
  }
  const made = shorten(structured, whole);
  return { ...result, structuredContent: made, content: content.map((part) => shortSentences(part, made)) };
}

/** Nobody may agree to words of which a fact is cut off, so the record beside them is cut before they are. */
function fittedQuestion(
  { message, ...record }: { message: string; [name: string]: unknown },
  content: Part[],
  whole: string,
) {
  const told = { message: shortQuotes(message) };
  const parts = content.map((part) =>
    part.type === "text" ? { ...part, text: shortQuotes(part.text) } : part,
  );
  const made = shorten(record, whole, MOST_TOKENS - sizeOf(told) - sizeOf(parts));
  return { structuredContent: { ...made, ...told }, content: parts.map((part) => noted(part, made)) };
}

/** The words with as much of each quoted text as fits. Every line stays, with all that is ours. */
function shortQuotes(words: string): string {
  let made = words;
  for (let most = 1_000; tokensAtMost(made) > FOR_QUESTION && most >= SHORTEST_QUOTE; most /= 2) {
    made = words.replace(QUOTED, (text) => (text.length > most ? `${startOfQuote(text, most)}…"` : text));
  }
  return made;
}

const QUOTED = /"(?:[^"\\]|\\.)*"/g;

/** Not the half of an escape. */
function startOfQuote(text: string, most: number): string {
  return startOfText(text, most).replace(/\\(?:u[0-9a-f]{0,3})?$/i, "");
}

type Part = CallToolResult["content"][number];

function isShort(part: Part): boolean {
  return part.type !== "text" || tokensAtMost(part.text) <= FOR_SENTENCES;
}

function shortSentences(part: Part, { shortened }: Record<string, unknown>): Part {
  if (part.type !== "text") return part;
  const text = isShort(part) ? part.text : `${startOfText(part.text, SENTENCE_CHARACTERS)}…`;
  return noted({ ...part, text }, { shortened });
}

/** The sentences of a shortened answer say so. */
function noted(part: Part, { shortened }: Record<string, unknown>): Part {
  if (part.type !== "text" || shortened === undefined) return part;
  const [first, ...rest] = part.text.split("\n");
  return { ...part, text: [`${first} It was shortened: see shortened.`, ...rest].join("\n") };
}

/** The way to read the whole result. A finished change must not be repeated for that. */
function wholeOf(structured: Record<string, unknown>, operation?: Operation): string {
  const [path, method] = (operation && routesOf(operation)[0]) ?? ["", ""];
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

/** Shortens the record only as far as needed; `shortened` lists the omitted parts, and how to read them. */
export function shorten(
  structured: Record<string, unknown>,
  whole: string,
  tokens = MOST_STRUCTURED,
): Record<string, unknown> {
  let made = structured;
  for (let most = LONGEST; most >= 1 && !fits(made, tokens); most = Math.floor(most / 2)) {
    const cuts: Cut[] = [];
    const cut = Object.entries(structured).map(([name, value]) => [
      name,
      KEPT.has(name) ? value : cutTo(value, most, name, cuts),
    ]);
    const more = cuts.length - SHOWN_CUTS;
    const shortened = { fields: cuts.slice(0, SHOWN_CUTS), ...(more > 0 && { more_fields: more }), whole };
    made = { ...Object.fromEntries(cut), shortened };
  }
  return made;
}

/** The value with no text and no list longer than `most`, except short texts. */
function cutTo(value: unknown, most: number, field: string, cuts: Cut[]): unknown {
  if (typeof value === "string") {
    const characters = Math.max(most, SHORTEST_TEXT);
    if (value.length <= characters) return value;
    const text = startOfText(value, characters);
    cuts.push({ field, characters: value.length, shown: text.length });
    return `${text}…`;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const shown = Math.min(entries.length, most);
  if (shown < entries.length) cuts.push({ field, entries: entries.length, shown });
  const isList = Array.isArray(value);
  const kept = entries.slice(0, shown).map(([name, one]): [string, unknown] => {
    return [name, cutTo(one, most, isList ? `${field}[${name}]` : `${field}.${name}`, cuts)];
  });
  return isList ? kept.map(([, one]) => one) : Object.fromEntries(kept);
}

/** The start of a text, without splitting a character. */
function startOfText(text: string, most: number): string {
  const start = text.slice(0, most);
  return start.isWellFormed() ? start : start.slice(0, -1);
}
