import { invalid } from "./faults.ts";

/** The API's versions, oldest first. The last one is current. */
export const VERSIONS = ["2026-06-05"] as const;

export const CURRENT_VERSION = VERSIONS.at(-1)!;

/** The version a request asks for. Throws `invalid` with the list. */
export function readVersion(asked: string | undefined): string {
  if (asked === undefined) return CURRENT_VERSION;
  const known = VERSIONS.find((version) => version === asked);
  if (!known) throw invalid("API-Version", `unknown version; known: ${VERSIONS.join(", ")}`);
  return known;
}

export interface Deprecation {
  /** An operation's name, or `operation.field` for one field of its input. */
  what: string;
  /** When it was deprecated. */
  since: Date;
  /** When it goes away, where that is decided. */
  sunset?: Date;
  /** What tells the caller how to move on. */
  link: string;
}

/** What is deprecated. Responses that touch one carry Deprecation (RFC 9745) and Sunset (RFC 8594). */
export const DEPRECATIONS: Deprecation[] = [];

/** The headers that a call of `operation` with these input fields carries. */
export function deprecationHeaders(operation: string, fields: string[]): Record<string, string> {
  if (DEPRECATIONS.length === 0) return {};
  const names = new Set([operation, ...fields.map((field) => `${operation}.${field}`)]);
  const touched = DEPRECATIONS.filter(({ what }) => names.has(what));
  const first = touched[0];
  if (!first) return {};
  const sunset = touched.map((one) => one.sunset).find(Boolean);
  return {
    Deprecation: `@${Math.floor(first.since.getTime() / 1000)}`,
    Link: touched.map(({ link }) => `<${link}>; rel="deprecation"`).join(", "),
    ...(sunset && { Sunset: sunset.toUTCString() }),
  };
}
