import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { readIdempotencyKey } from "#runtime/idempotency.ts";
import { checkValue } from "#runtime/input.ts";
import type { Operation } from "#runtime/operation.ts";

export interface Arguments {
  input: Record<string, unknown>;
  json: boolean;
  /** A list together with where it stands. */
  withPage: boolean;
  /** Id, short name or name of the property to work in. */
  property?: string | undefined;
  /** The service to call instead of working in this process. */
  url?: string | undefined;
  key?: string | undefined;
  idempotencyKey?: string | undefined;
}

const SWITCHES = new Set(["json", "with-page"]);
const OWN = new Set([...SWITCHES, "property", "url", "service-url", "key", "api-key", "idempotency-key"]);

const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

type ReadText = (file: string) => Promise<string>;

/** Flags as an operation's input. `@file` stands for a file's content. Throws `invalid` naming the flag. */
export async function parseArguments(
  operation: Operation,
  words: string[],
  readText: ReadText,
  environment: NodeJS.ProcessEnv,
): Promise<Arguments> {
  const own: Record<string, string> = {};
  const input: Record<string, unknown> = {};
  const fields = new Map(Object.keys(operation.input.shape).map((field) => [flagOf(field), field]));
  const given = new Set<string>();
  for (let index = 0; index < words.length; index++) {
    const { flag, inline, negated } = readFlag(words[index]!, fields);
    const field = fields.get(flag);
    if (field === undefined && flag !== "filter" && !OWN.has(flag))
      throw invalid(`--${flag}`, "unknown flag");
    const kind = field
      ? kindOf(operation.input.shape[field] as z.ZodType)
      : SWITCHES.has(flag)
        ? "boolean"
        : "text";
    if (given.has(flag) && kind !== "list" && flag !== "filter") throw invalid(`--${flag}`, "is given twice");
    given.add(flag);
    const valued = VALUES[kind];
    if (valued && inline === undefined) {
      const value = valued.test(words[index + 1] ?? "") ? switched(words[++index]!) : !negated;
      if (field) input[field] = value;
      else own[flag] = "true";
      continue;
    }
    const text = inline ?? words[++index];
    if (text === undefined) throw invalid(`--${flag}`, "needs a value");
    if (flag === "filter" && field === undefined) addFilter(input, text);
    else if (field) {
      if (field === operation.upload?.[0]) await refusePath(flag, text, readText);
      input[field] = await readValue(flag, kind, text, readText, input[field]);
    } else own[flag] = checked(flag, text);
  }
  return {
    input,
    json: own.json === "true",
    withPage: own["with-page"] === "true",
    property: own.property,
    url: own["service-url"] ?? own.url,
    key: (own["api-key"] ?? own.key ?? environment.API_KEY)?.trim(),
    idempotencyKey: own["idempotency-key"],
  };
}

/** A value of our own flags. An empty one is a variable that was not set: what is meant for elsewhere is not done here. */
function checked(flag: string, text: string): string {
  if (text === "") throw invalid(`--${flag}`, "is empty");
  if (SWITCHES.has(flag) && !VALUES.boolean?.test(text)) throw invalid(`--${flag}`, "is true or false");
  return flag === "idempotency-key" ? readIdempotencyKey(text, `--${flag}`) : text;
}

export function flagOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll("_", "-");
}

/** `choice` is on or off, or a word. */
export type Kind = "text" | "number" | "boolean" | "choice" | "list" | "json";

/** What follows a flag as its value, where it need have none. */
const VALUES: Partial<Record<Kind, RegExp>> = { boolean: /^(true|false)$/, choice: /^(?!--)./ };

/** How a flag of this schema is written. */
export function kindOf(schema: z.ZodType): Kind {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return kindOf(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodPipe) return kindOf(schema.in as z.ZodType);
  if (schema instanceof z.ZodBoolean) return "boolean";
  if (schema instanceof z.ZodUnion && schema.options.some((one) => one instanceof z.ZodBoolean))
    return "choice";
  if (schema instanceof z.ZodNumber) return "number";
  if (schema instanceof z.ZodArray) return kindOf(schema.element as z.ZodType) === "json" ? "json" : "list";
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord || schema instanceof z.ZodUnknown)
    return "json";
  return "text";
}

function readFlag(word: string, fields: Map<string, string>) {
  const match = /^--([a-z][\w-]*)(?:=(.*))?$/s.exec(word);
  if (!match) throw invalid(word, "is not a flag; write --name value");
  const flag = match[1]!.replaceAll("_", "-");
  const negated = flag.startsWith("no-") && !fields.has(flag);
  return { flag: negated ? flag.slice(3) : flag, inline: match[2], negated };
}

function addFilter(input: Record<string, unknown>, text: string): void {
  const mark = text.indexOf("=");
  if (mark < 1) throw invalid("--filter", "write column.operator=value, such as tier.eq=Gold");
  const filters = (input.filters ?? {}) as Record<string, string[]>;
  const key = text.slice(0, mark);
  input.filters = { ...filters, [key]: [...(filters[key] ?? []), text.slice(mark + 1)] };
}

async function readValue(flag: string, kind: Kind, text: string, readText: ReadText, before: unknown) {
  const content = text.startsWith("@") ? await readText(text.slice(1)).catch(() => noFile(flag, text)) : text;
  const isNull = content === "null";
  if (before === null || (isNull && before !== undefined)) throw invalid(`--${flag}`, "is given twice");
  if (isNull) return null;
  if (kind === "boolean" || kind === "choice") return switched(content);
  if (kind === "number") {
    const number = NUMBER.test(content) ? Number(content) : Number.NaN;
    // Sent on, an infinite one would be null.
    if (!Number.isFinite(number)) throw invalid(`--${flag}`, "must be a number");
    return number;
  }
  if (kind === "json") return parsed(flag, content);
  if (kind !== "list") return content;
  const items = content.trimStart().startsWith("[") ? parsed(flag, content) : content.split(",");
  return [...((before as unknown[] | undefined) ?? []), ...(items as unknown[])];
}

function parsed(flag: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(`--${flag}`, "must be JSON");
  }
  checkValue(value, `--${flag}`);
  return value;
}

/** A path alone would be taken for the text of a file, and found wrong only when the job reads it. */
async function refusePath(flag: string, text: string, readText: ReadText): Promise<void> {
  if (text.startsWith("@") || /[\r\n,]/.test(text)) return;
  const isFile = await readText(text).then(
    () => true,
    () => false,
  );
  if (isFile) throw invalid(`--${flag}`, `is the file's text; write --${flag} @${text} to read the file`);
}

function switched(text: string): boolean | string {
  return text === "true" || (text === "false" ? false : text);
}

function noFile(flag: string, text: string): never {
  throw invalid(`--${flag}`, `no file ${text.slice(1)}`);
}
