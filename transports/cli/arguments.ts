import type { z } from "zod";
import { didYouMean } from "#db/nearest.ts";
import { type Fault, invalid } from "#runtime/faults.ts";
import { readIdempotencyKey } from "#runtime/funnel/idempotency.ts";
import { type FieldKind, kindOf } from "#runtime/operation/field-kind.ts";
import { checkValue } from "#runtime/operation/input.ts";
import type { Operation } from "#runtime/operation/operation.ts";

export const FORMATS = ["table", "json", "csv"] as const;

export interface Arguments {
  input: Record<string, unknown>;
  /** How the result is written. */
  format: (typeof FORMATS)[number];
  /** Print a list together with its page. */
  withPage: boolean;
  /** The file to write the result to; `-` for stdout. */
  out?: string | undefined;
  /** Whether to wait for work in the background. Undefined: in a terminal. */
  wait?: boolean | undefined;
  /** Id, slug or name of the property to work in. */
  property?: string | undefined;
  /** The address of a running service to call, instead of this process. */
  url?: string | undefined;
  key?: string | undefined;
  idempotencyKey?: string | undefined;
}

const SWITCHES = new Set(["json", "with-page", "wait"]);
/** Flags of all commands. */
export const GENERAL: ReadonlySet<string> = new Set([
  ...SWITCHES,
  ...["output", "out", "property", "url", "service-url", "key", "api-key", "idempotency-key"],
]);

const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

type ReadText = (file: string) => Promise<string>;

/** Parses flags into an operation's input. `@file` stands for a file's content. Throws `invalid` naming the flag. */
export async function parseArguments(
  operation: Operation,
  args: string[],
  readText: ReadText,
  environment: NodeJS.ProcessEnv,
): Promise<Arguments> {
  const general: Record<string, string> = {};
  const input: Record<string, unknown> = {};
  const fields = new Map(Object.keys(operation.input.shape).map((field) => [flagOf(field), field]));
  const others = new Set(fields.has("filters") ? [...GENERAL, "filter"] : GENERAL);
  const given = new Set<string>();
  for (let index = 0; index < args.length; index++) {
    const { flag, inline, negated } = readFlag(args[index]!, fields);
    const field = fields.get(flag);
    if (field === undefined && !others.has(flag)) throw unknownFlag(flag, [...fields.keys(), ...others]);
    const kind = field
      ? kindOf(operation.input.shape[field] as z.ZodType)
      : SWITCHES.has(flag)
        ? "boolean"
        : "text";
    if (given.has(flag) && kind !== "list" && flag !== "filter") throw invalid(`--${flag}`, "is given twice");
    given.add(flag);
    const valued = VALUES[kind];
    if (valued && inline === undefined) {
      const value = valued.test(args[index + 1] ?? "") ? switchValue(args[++index]!) : !negated;
      if (field) input[field] = value;
      else general[flag] = String(value);
      continue;
    }
    const text = inline ?? args[++index];
    if (text === undefined) throw invalid(`--${flag}`, "needs a value");
    if (flag === "filter" && field === undefined) addFilter(input, text);
    else if (field) {
      if (field === operation.upload?.[0]) await refusePath(flag, text, readText);
      input[field] = await readValue(flag, kind, text, readText, input[field]);
    } else general[flag] = checkedFlag(flag, text);
  }
  return {
    input,
    format: formatOf(general),
    withPage: general["with-page"] === "true",
    out: general.out,
    wait: general.wait === undefined ? undefined : general.wait === "true",
    property: general.property,
    url: general["service-url"] ?? general.url,
    key: (general["api-key"] ?? general.key ?? environment.API_KEY)?.trim(),
    idempotencyKey: general["idempotency-key"],
  };
}

function unknownFlag(flag: string, known: readonly string[]): Fault {
  const flags = known.map((one) => `--${one}`);
  return invalid(`--${flag}`, `unknown flag${didYouMean(`--${flag}`, flags)}`);
}

function formatOf({ output, json }: Record<string, string>): Arguments["format"] {
  const isJson = json === "true";
  const format = FORMATS.find((one) => one === (output ?? (isJson ? "json" : "table")));
  if (!format) throw invalid("--output", `is one of ${FORMATS.join(", ")}`);
  if (isJson && format !== "json") throw invalid("--output", "contradicts --json");
  return format;
}

/** The value of a general flag. Refuses an empty one: an unset variable must not choose another service or property. */
function checkedFlag(flag: string, text: string): string {
  if (text === "") throw invalid(`--${flag}`, "is empty");
  if (SWITCHES.has(flag) && !VALUES.boolean?.test(text)) throw invalid(`--${flag}`, "must be true or false");
  return flag === "idempotency-key" ? readIdempotencyKey(text, `--${flag}`) : text;
}

export function flagOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll("_", "-");
}

/** The values that may follow a flag that needs none. */
const VALUES: Partial<Record<FieldKind, RegExp>> = { boolean: /^(true|false)$/, choice: /^(?!--)./ };

function readFlag(given: string, fields: Map<string, string>) {
  const word = given.replace(/^-o(?=$|=)/, "--output");
  const match = /^--([a-z][\w-]*)(?:=(.*))?$/s.exec(word);
  if (!match) throw invalid(word, "is not a flag; write --name value");
  const flag = match[1]!.replaceAll("_", "-");
  const negated = flag.startsWith("no-") && !fields.has(flag);
  return { flag: negated ? flag.slice(3) : flag, inline: match[2], negated };
}

function addFilter(input: Record<string, unknown>, text: string): void {
  const mark = text.indexOf("=");
  if (mark < 1) throw invalid("--filter", "write column.operator=value, such as tier.eq=Gold");
  const filters = (input.filters ?? {}) as Record<string, string>;
  const key = text.slice(0, mark);
  if (Object.hasOwn(filters, key)) throw invalid("--filter", `${key} is given twice; of several values: in`);
  input.filters = { ...filters, [key]: text.slice(mark + 1) };
}

async function readValue(flag: string, kind: FieldKind, text: string, readText: ReadText, before: unknown) {
  const content = text.startsWith("@") ? await readText(text.slice(1)).catch(() => noFile(flag, text)) : text;
  const isNull = content === "null";
  if (before === null || (isNull && before !== undefined)) throw invalid(`--${flag}`, "is given twice");
  if (isNull) return null;
  if (kind === "boolean" || kind === "choice") return switchValue(content);
  if (kind === "number") {
    const number = NUMBER.test(content) ? Number(content) : Number.NaN;
    // JSON has no infinity: it would be sent as null.
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

/** Refuses a bare path: a text of one line has no rows, and the import would fail only when its job reads it. */
async function refusePath(flag: string, text: string, readText: ReadText): Promise<void> {
  if (/^(?:@|null$)|[\r\n]/.test(text)) return;
  const isFile = await readText(text).then(
    () => true,
    () => false,
  );
  if (isFile) throw invalid(`--${flag}`, `is the file's text; write --${flag} @${text} to read the file`);
  throw invalid(
    `--${flag}`,
    `no file ${text}; and a file is given as --${flag} @file, as its text it has no rows`,
  );
}

function switchValue(text: string): boolean | string {
  return text === "true" || (text === "false" ? false : text);
}

function noFile(flag: string, text: string): never {
  throw invalid(`--${flag}`, `no file ${text.slice(1)}`);
}
