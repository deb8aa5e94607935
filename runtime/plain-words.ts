import { z } from "zod";
import { didYouMean } from "#db/nearest.ts";
import { readTime } from "#db/time.ts";
import { counted } from "./counted.ts";
import { bareOrQuoted } from "./visible-text.ts";

type Issue = z.core.$ZodRawIssue;

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "must be an id (a uuid), such as 01900000-0000-7000-8000-000000000000",
  email: "must be an email address",
  url: "must be a web address, such as https://example.com/",
  date: "must be a date, such as 2026-01-31",
  datetime: "must be a time with its offset, such as 2026-01-31T18:00:00-05:00",
  duration: "must be an ISO 8601 duration, such as P1M",
  ipv4: "must be an IP address",
  ipv6: "must be an IP address",
};

const MOST_VALUES = 60;

/** The flaw of a value, for people who do not know zod. Undefined: zod's own words stay. */
function plainWords(issue: Issue): string | undefined {
  if (issue.input === undefined && issue.code !== "custom" && issue.code !== "unrecognized_keys") {
    return "is required";
  }
  switch (issue.code) {
    case "invalid_type":
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return oneOf(issue.values.map(String), issue.input);
    case "too_small":
      return bound(issue.origin, Number(issue.minimum), issue.inclusive !== false, "at least", "more than");
    case "too_big":
      return bound(issue.origin, Number(issue.maximum), issue.inclusive !== false, "at most", "less than");
    case "invalid_format":
      return issue.format === "datetime" ? timeWords(issue.input) : FORMATS[issue.format];
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options)
        ? kindWords(issue.options.map(String), issue)
        : eitherOf(issue.errors);
    default:
      return undefined;
  }
}

function timeWords(input: unknown): string {
  const read = typeof input === "string" ? readTime(input) : null;
  if (read === null || read.offset !== null) return FORMATS.datetime!;
  return `says no offset: write ${read.clock}-05:00 with the one of the place, or ${read.clock}Z`;
}

function oneOf(values: string[], input: unknown): string {
  const near = typeof input === "string" ? didYouMean(input, values) : "";
  if (values.length === 1) return `must be ${bareOrQuoted(values[0]!)}`;
  return `must be one of ${values.slice(0, MOST_VALUES).map(bareOrQuoted).join(", ")}${near}`;
}

/** The kinds of a union that a field tells apart, such as a node's type. */
function kindWords(
  kinds: string[],
  { input, discriminator }: { input?: unknown; discriminator?: string | undefined },
): string {
  const given = (input as Record<string, unknown>)[discriminator ?? ""];
  return given === undefined ? `is required: one of ${kinds.join(", ")}` : oneOf(kinds, given);
}

function bound(origin: string, limit: number, inclusive: boolean, within: string, beyond: string): string {
  const words = inclusive ? within : beyond;
  if (origin !== "string" && origin !== "array") return `must be ${words} ${limit}`;
  if (words === "at least" && limit === 1) return "must not be empty";
  const unit = origin === "string" ? "character" : "value";
  return `must have ${words} ${counted(limit, unit)}`;
}

/** The alternatives of a union, each by its first objection. */
function eitherOf(alternatives: readonly (readonly { message: string; path: PropertyKey[] }[])[]): string {
  const words = alternatives.flatMap(([issue]) => (issue ? [saidAt(issue)] : []));
  const said = [...new Set(words)].map((one) => one.replace(/^must be /, ""));
  return said.length > 0 ? `must be ${said.slice(0, 3).join(", or ")}` : "does not fit";
}

function saidAt({ message, path }: { message: string; path: PropertyKey[] }): string {
  return path.length > 0 ? `${pathText(path)}: ${message}` : message;
}

/** Where a value stands, as `conditions[0].value`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  );
}

z.config({ customError: plainWords });
