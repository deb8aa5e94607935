import { z } from "zod";
import { didYouMean } from "#db/nearest.ts";
import { closingQuote, isStorable, isUuid } from "#db/text.ts";
import { Fault, type FaultDetail } from "#runtime/faults.ts";
import { pathText } from "#runtime/plain-words.ts";
import { columnsOf, isWrapped } from "./columns.ts";
import { kindOf } from "./field-kind.ts";
import type { Operation } from "./operation.ts";

const MOST_NESTING = 64;
const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** JSON text as a value that PostgreSQL and JavaScript can handle. Throws `invalid`. */
export function parseJson(text: string): unknown {
  const value = parseUnchecked(text);
  checkValue(value);
  return value;
}

/** JSON text as a value that is still to be checked. Throws `invalid`, also on a field that stands twice. */
export function parseUnchecked(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw new Fault("invalid", { message: `The body is not valid JSON. ${reason}`.trim() });
  }
  const twice = doubledKey(text);
  if (twice !== undefined) throw refused(twice, "is given twice");
  return value;
}

const SPACE = 32;
const COLON = 58;

/** The first field of valid JSON text that stands twice in one object: a parser would keep the last one. */
function doubledKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "{") open.push(new Set());
    else if (char === "}") open.pop();
    else if (char === '"') {
      const start = at + 1;
      at = closingQuote(text, at);
      if (!isKeyEnd(text, at)) continue;
      const written = text.slice(start, at);
      const key: string = written.includes("\\") ? JSON.parse(`"${written}"`) : written;
      const keys = open.at(-1)!;
      if (keys.has(key)) return key;
      keys.add(key);
    }
  }
  return undefined;
}

/** Whether a colon follows the closing quote. */
function isKeyEnd(text: string, quote: number): boolean {
  let next = quote + 1;
  while (text.charCodeAt(next) <= SPACE) next++;
  return text.charCodeAt(next) === COLON;
}

/** Refuses NUL, lone surrogates, non-finite numbers, prototype keys and deep nesting, at any depth. */
export function checkValue(value: unknown, path = "", depth = 0): void {
  if (typeof value === "string") {
    if (!isStorable(value)) throw refused(path, "holds NUL or broken Unicode");
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) throw refused(path, "is not a finite number");
  } else if (typeof value === "object" && value !== null) {
    if (depth >= MOST_NESTING) throw refused(path, `is nested deeper than ${MOST_NESTING} levels`);
    for (const [key, inner] of Object.entries(value)) {
      checkKey(key, path);
      checkValue(key, "field name", depth);
      checkValue(inner, Array.isArray(value) ? `${path}[${key}]` : path ? `${path}.${key}` : key, depth + 1);
    }
  }
}

/** Refuses names by which JavaScript reaches beyond an object's own fields. */
export function checkKey(key: string, path = ""): void {
  if (FORBIDDEN_KEYS.has(key)) {
    throw refused(path ? `${path}.${key}` : key, "is not an allowed field name");
  }
}

/**
 * The input as the operation's schema gives it, with each wrong field named. An empty text stands for null where
 * the field is a text that takes null, as forms send it. Throws `invalid`.
 */
export function parseInput(operation: Operation, folded: Record<string, unknown>): Record<string, unknown> {
  const [given, echoed] = operation.crud?.verb === "update" ? parted(operation, folded) : [folded, null];
  const filled = operation.crud ? withoutEmpty(operation, given) : given;
  const input = withPlainIds(operation.input, filled) as Record<string, unknown>;
  const parsed = operation.input.safeParse(input);
  if (!parsed.success) throw inputFault(parsed.error, operation.input.shape, input);
  return echoed ? { ...parsed.data, [ECHOED]: echoed } : parsed.data;
}

/**
 * The value with the ids that its schema names in lower case, as the database writes them: both cases name one record,
 * and seeds, keys and stored texts are made of ids. A text that may be an id or another name stays as it is.
 */
function withPlainIds(schema: z.ZodType, value: unknown): unknown {
  // Most values are no ids and hold none: a look at their schemas would cost more than all else here.
  if (typeof value === "string" ? !isUuid(value) : typeof value !== "object" || value === null) return value;
  if (isWrapped(schema)) return withPlainIds(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodUUID) return isUuid(value) ? value.toLowerCase() : value;
  if (schema instanceof z.ZodArray) {
    return Array.isArray(value) ? value.map((one) => withPlainIds(schema.element as z.ZodType, one)) : value;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const { discriminator } = schema.def;
    const told = (value as Record<string, unknown>)[discriminator];
    const options = schema.options as readonly z.ZodObject[];
    const option = options.find(({ shape }) => (shape[discriminator] as z.ZodType).safeParse(told).success);
    return option ? withPlainIds(option, value) : value;
  }
  if (!(schema instanceof z.ZodObject)) return value;
  const shape: Record<string, z.ZodType> = schema.shape;
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    Object.hasOwn(shape, name) ? withPlainIds(shape[name]!, inner) : inner,
  ]);
  return Object.fromEntries(entries);
}

/** The fields of a change that callers read and do not write. Equal values pass: a record can be sent back whole. */
export const ECHOED: unique symbol = Symbol("echoed");

function parted({ crud, input }: Operation, folded: Record<string, unknown>) {
  const columns = columnsOf(crud!.table);
  const isEchoed = (name: string) => Object.hasOwn(columns, name) && !Object.hasOwn(input.shape, name);
  const entries = Object.entries(folded);
  const echoed = entries.filter(([name]) => isEchoed(name));
  if (echoed.length === 0) return [folded, null] as const;
  return [
    Object.fromEntries(entries.filter(([name]) => !isEchoed(name))),
    Object.fromEntries(echoed),
  ] as const;
}

function withoutEmpty({ input }: Operation, given: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(given).some(isEmptyText)) return given;
  const entries = Object.entries(given).map(([name, value]) => {
    const schema: z.ZodType | undefined = Object.hasOwn(input.shape, name) ? input.shape[name] : undefined;
    return [name, schema && isEmptyText(value) && isCleared(schema) ? null : value];
  });
  return Object.fromEntries(entries);
}

/** Whether an empty text means null for the field: it takes texts and null, and no empty text. */
export function isCleared(schema: z.ZodType): boolean {
  return kindOf(schema) === "text" && !schema.safeParse("").success && schema.safeParse(null).success;
}

function isEmptyText(value: unknown): boolean {
  return typeof value === "string" && value.trim() === "";
}

/** Renames known fields in the other casing (campaignId, campaign_id) to the operation's own names. */
export function foldCasing(operation: Operation, input: Record<string, unknown>): Record<string, unknown> {
  const shape = operation.input.shape;
  const folded: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(input)) {
    const name = Object.hasOwn(shape, key)
      ? key
      : (casingOf(operation, key) ?? aliasOf(operation, key, input) ?? key);
    if (Object.hasOwn(folded, name)) throw refused(name, "is given in two casings: give it once");
    folded[name] = value;
  }
  return folded;
}

export function asObject(raw: unknown): Record<string, unknown> {
  if (raw === undefined) return {};
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw new Fault("invalid", { message: "The body must be a JSON object." });
  }
  return raw as Record<string, unknown>;
}

/** The field by which a call names its property, where the operation has none of its own. */
export const PROPERTY_FIELD = "property_id";

const casings = new WeakMap<Operation, Map<string, string>>();

function otherCasings(operation: Operation): Map<string, string> {
  let map = casings.get(operation);
  if (!map) {
    map = new Map();
    const names = Object.keys(operation.input.shape);
    for (const name of names) {
      map.set(toSnake(name), name);
      map.set(toCamel(name), name);
    }
    if (operation.property === null && operation.realm === "property") {
      map.set(toCamel(PROPERTY_FIELD), PROPERTY_FIELD);
    }
    casings.set(operation, map);
  }
  return map;
}

function casingOf(operation: Operation, key: string): string | undefined {
  return otherCasings(operation).get(key);
}

/**
 * The field for the one record that an operation is about, by another of its names: id, playerId, player_id. Beside
 * the field's own name the other is unknown.
 */
function aliasOf(operation: Operation, key: string, input: Record<string, unknown>): string | undefined {
  const { crud, property } = operation;
  const names = Object.keys(operation.input.shape);
  const [only, ...others] = names.filter((name) => name !== property && /(^id|_id|Id)$/.test(name));
  if (only === undefined || others.length > 0) return undefined;
  const noun = crud && `${crud.table.noun}_id`;
  const aliases = only !== "id" ? ["id"] : noun ? [noun, toCamel(noun)] : [];
  const isGiven = [only, toSnake(only), toCamel(only)].some((name) => Object.hasOwn(input, name));
  return aliases.includes(key) && !isGiven ? only : undefined;
}

function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toCamel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * A zod error as a 400 whose sentence is enough and whose details name each field. `shape`: the fields of the operation.
 * A flaw within an item of a list names the item's id, as `input` has it.
 */
export function inputFault(error: z.ZodError, shape: z.ZodRawShape = {}, input?: unknown): Fault {
  // A whole number beyond its field's bound is also beyond the largest safe one; the field's own bound comes last.
  const bounds = new Map(error.issues.map((issue) => [`${issue.code} ${pathText(issue.path)}`, issue]));
  const details: FaultDetail[] = error.issues.flatMap((issue) => {
    const path = pathText(issue.path);
    const isBound = issue.code === "too_big" || issue.code === "too_small";
    if (isBound && bounds.get(`${issue.code} ${path}`) !== issue) return [];
    const item = itemWords(input, issue.path);
    if (issue.code !== "unrecognized_keys") {
      const message = `${issue.message}${orNull(input, issue.path, shape)}${item}`;
      return [{ field: path || "body", message }];
    }
    return issue.keys.map((key) => ({
      field: path ? `${path}.${key}` : key,
      message: `unknown field${path ? item : didYouMean(key, Object.keys(shape))}`,
    }));
  });
  const shown = details.slice(0, 5).map(({ field, message }) => `${field}: ${message}`);
  const more = details.length > 5 ? `; and ${details.length - 5} more` : "";
  return new Fault("invalid", { message: shown.join("; ") + more, details });
}

/** A missing field that takes null says so: a caller who has no value gets a way on. */
function orNull(input: unknown, [name, ...within]: readonly PropertyKey[], shape: z.ZodRawShape): string {
  if (typeof name !== "string" || within.length > 0 || !Object.hasOwn(shape, name)) return "";
  if (Object.hasOwn(input as object, name) || !z.safeParse(shape[name]!, null).success) return "";
  return "; it may be null";
}

const MOST_ID = 40;

/** The id of the innermost list item on a path: a reader does not count items. */
function itemWords(input: unknown, path: readonly PropertyKey[]): string {
  let words = "";
  let value = input;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) break;
    value = (value as Record<PropertyKey, unknown>)[part];
    if (typeof part !== "number" || typeof value !== "object" || value === null) continue;
    const id: unknown = Object.hasOwn(value, "id") ? (value as { id: unknown }).id : undefined;
    if (typeof id === "string" && id !== "")
      words = ` (of ${JSON.stringify(id.slice(0, MOST_ID).toWellFormed())})`;
  }
  return words;
}

function refused(field: string, message: string): Fault {
  return new Fault("invalid", { message: `${field || "body"}: ${message}`, details: [{ field, message }] });
}
