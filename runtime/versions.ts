import { invalid } from "#runtime/faults.ts";

/** The API's versions, oldest first. The last one is current. */
const VERSIONS = ["2026-06-05"] as const;

export const CURRENT_VERSION = VERSIONS.at(-1)!;

/** The version that a request selects. Throws `invalid` with the list. */
export function readVersion(requested: string): string {
  const known = VERSIONS.find((version) => version === requested);
  if (!known) throw invalid("API-Version", `unknown version; known: ${VERSIONS.join(", ")}`);
  return known;
}

export interface Deprecation {
  /** The operation's name. */
  operation: string;
  /** One field of its input; without it and `output`, the operation itself is deprecated. */
  input?: string;
  /** One field of its answer. */
  output?: string;
  /** The time of its deprecation. */
  since: Date;
  /** The time of its removal, where that is decided. */
  sunset?: Date;
  /** The page that tells callers how to move on. */
  link: string;
}

/**
 * The deprecated operations and fields. Responses that touch one carry Deprecation (RFC 9745) and Sunset (RFC 8594).
 */
export const DEPRECATIONS: readonly Deprecation[] = [];

/** Whether the deprecation covers the whole operation. */
export function isWhole({ input, output }: Deprecation): boolean {
  return input === undefined && output === undefined;
}

/**
 * The deprecation headers of a response, by the input fields of its request and its own fields; the earliest dates
 * hold. Undefined where none of them is deprecated.
 */
export function deprecationHeaders(
  deprecations: readonly Deprecation[],
  given: readonly string[],
  answered: (field: string) => boolean,
): Record<string, string> | undefined {
  const touched = deprecations.filter(
    ({ input, output }) =>
      (input === undefined || given.includes(input)) && (output === undefined || answered(output)),
  );
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

/** One sentence about the deprecation, for descriptions. */
export function deprecationWords({ since, sunset, link }: Deprecation): string {
  const day = (date: Date) => date.toISOString().slice(0, 10);
  return `Deprecated since ${day(since)}${sunset ? `, gone on ${day(sunset)}` : ""}: see ${link}.`;
}
