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
  /** The operation's name. */
  operation: string;
  /** One field of its input; without it and `output`, the operation itself is deprecated. */
  input?: string;
  /** One field of what it answers. */
  output?: string;
  /** When it was deprecated. */
  since: Date;
  /** When it goes away, where that is decided. */
  sunset?: Date;
  /** What tells the caller how to move on. */
  link: string;
}

/** What is deprecated. Responses that touch one carry Deprecation (RFC 9745) and Sunset (RFC 8594). */
export const DEPRECATIONS: readonly Deprecation[] = [];

/** Of an operation that is called by a former name, which the current version has replaced. */
export function renamed(operation: string, link: string): Deprecation {
  return { operation, since: new Date(CURRENT_VERSION), link };
}

/** Those that a call touches: its operation, the input fields that it gives, the output fields that it is answered. */
export function touchedBy(
  deprecations: readonly Deprecation[],
  given: readonly string[],
  answered: (field: string) => boolean,
): Deprecation[] {
  return deprecations.filter(
    ({ input, output }) =>
      (input === undefined || given.includes(input)) && (output === undefined || answered(output)),
  );
}

/** The headers of a response that touches these; the earliest dates hold. Undefined for none. */
export function deprecationHeaders(touched: readonly Deprecation[]): Record<string, string> | undefined {
  if (touched.length === 0) return undefined;
  const since = Math.min(...touched.map((one) => one.since.getTime()));
  const ends = touched.flatMap(({ sunset }) => (sunset ? [sunset.getTime()] : []));
  const links = touched.flatMap(({ link, sunset }) => [
    `<${link}>; rel="deprecation"; type="text/html"`,
    ...(sunset ? [`<${link}>; rel="sunset"; type="text/html"`] : []),
  ]);
  return {
    Deprecation: `@${Math.floor(since / 1000)}`,
    Link: [...new Set(links)].join(", "),
    ...(ends.length > 0 && { Sunset: new Date(Math.min(...ends)).toUTCString() }),
  };
}

/** One sentence of it, for descriptions. */
export function deprecationWords({ since, sunset, link }: Deprecation): string {
  const day = (date: Date) => date.toISOString().slice(0, 10);
  return `Deprecated since ${day(since)}${sunset ? `, gone on ${day(sunset)}` : ""}: see ${link}.`;
}
