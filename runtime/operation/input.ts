import type { z } from "zod";
import { isStorable } from "#db/text.ts";
import { Fault, type FaultDetail } from "#runtime/faults.ts";
import type { Operation } from "./operation.ts";

const MOST_NESTING = 64;
const FORBIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** JSON text as a value that PostgreSQL and JavaScript can handle. Throws `invalid`. */
export function parseJson(text: string): unknown {
  const value = parseUnchecked(text);
  checkValue(value);
  return value;
}

/** JSON text as an unchecked value. Throws `invalid`. */
export function parseUnchecked(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw new Fault("invalid", { message: `The body is not valid JSON. ${reason}`.trim() });
  }
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

/** The input as the operation's schema gives it, with each wrong field named. Throws `invalid`. */
export function parseInput(operation: Operation, folded: Record<string, unknown>): Record<string, unknown> {
  const parsed = operation.input.safeParse(folded, { error: missingMessage });
  if (!parsed.success) throw inputFault(parsed.error);
  return parsed.data;
}

/** Zod's own message names types even for a missing field. */
function missingMessage({ code, input }: { code: string; input?: unknown }): string | undefined {
  return code === "invalid_type" && input === undefined ? "is required" : undefined;
}

/** Renames known fields in the other casing (campaignId, campaign_id) to the operation's own names. */
export function foldCasing(operation: Operation, input: Record<string, unknown>): Record<string, unknown> {
  const shape = operation.input.shape;
  const folded: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(input)) {
    const name = Object.hasOwn(shape, key) ? key : (otherCasings(operation).get(key) ?? key);
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

const casings = new WeakMap<Operation, Map<string, string>>();

function otherCasings(operation: Operation): Map<string, string> {
  let map = casings.get(operation);
  if (!map) {
    map = new Map();
    for (const name of Object.keys(operation.input.shape)) {
      map.set(toSnake(name), name);
      map.set(toCamel(name), name);
    }
    casings.set(operation, map);
  }
  return map;
}

function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toCamel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** A zod error as a 400 with a sufficient sentence, and with details that name each field. */
export function inputFault(error: z.ZodError): Fault {
  const details: FaultDetail[] = error.issues.flatMap((issue) => {
    const path = issue.path.map(String).join(".");
    if (issue.code !== "unrecognized_keys") return [{ field: path || "body", message: issue.message }];
    return issue.keys.map((key) => ({ field: path ? `${path}.${key}` : key, message: "unknown field" }));
  });
  const shown = details.slice(0, 5).map(({ field, message }) => `${field}: ${message}`);
  const more = details.length > 5 ? `; and ${details.length - 5} more` : "";
  return new Fault("invalid", { message: shown.join("; ") + more, details });
}

function refused(field: string, message: string): Fault {
  return new Fault("invalid", { message: `${field || "body"}: ${message}`, details: [{ field, message }] });
}
