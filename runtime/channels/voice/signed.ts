import { createHmac, timingSafeEqual } from "node:crypto";

/** Compares in constant time. */
export function equal(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** HMAC-SHA256 in hex. */
export function hexHmac(key: string, ...parts: (Buffer | string)[]): string {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest("hex");
}

export type Json = Record<string, unknown>;

/** The JSON object of a body; empty when it is none. */
export function objectIn(body: Buffer): Json {
  try {
    return objectAt(JSON.parse(body.toString("utf8")));
  } catch {
    return {};
  }
}

/** An object in a JSON value, by its path; empty where there is none. */
export function objectAt(value: unknown, ...path: string[]): Json {
  let found = value;
  for (const name of path) found = isObject(found) ? found[name] : undefined;
  return isObject(found) ? found : {};
}

/** A list of objects; empty where there is none. */
export function objectsAt(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A number that is not negative; undefined for any other value. */
export function amountAt(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** A text; empty for any other value. */
export function wordsAt(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
