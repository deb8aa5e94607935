import { html } from "hono/html";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";
import { words } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";

/** Operators as people say them. */
export const OPERATOR_WORDS: Readonly<Record<string, string>> = {
  eq: "is",
  neq: "is not",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  in: "is one of",
  not_in: "is none of",
  between: "is between",
  not_between: "is not between",
  contains: "contains",
  not_contains: "does not contain",
  starts_with: "starts with",
  ends_with: "ends with",
  is_set: "is known",
  is_not_set: "is not known",
  is_empty: "is empty",
  before: "is before",
  after: "is after",
  in_last_days: "is within the last days",
  not_in_last_days: "is not within the last days",
  in_next_days: "is within the next days",
  anniversary_in_next_days: "comes around within the next days",
  on_day: "is on the day",
  has_any: "has any of",
  has_all: "has all of",
  has_none: "has none of",
  in_segment: "yes",
  not_in_segment: "no",
};

/** Columns whose names are short for something. */
const FIELD_WORDS: Readonly<Record<string, string>> = {
  adt: "ADT",
  lifetime_theo: "Lifetime theo",
  last_visit_at: "Last visit",
  created_at: "Player since",
  birth_date: "Birthday",
  player_id: "Player id",
};

/** A field's name as people say it. `names` are of segments, campaigns and journeys, by their ids. */
export function fieldWords(field: string, names: ReadonlyMap<string, string> = new Map()): string {
  const [family = "", key = "", ...rest] = field.split(".");
  const named = names.get(key) ?? key;
  switch (rest.length === 0 && key === "" ? "" : family) {
    case "consent":
      return `Consent for ${key}`;
    case "suppressed":
      return `Suppressed for ${key}`;
    case "custom":
      return words(named);
    case "segment":
      return `In the segment ${named}`;
    case "event":
      return rest[0] === "count" ? `Number of ${key} events` : `${words(key)} events, ${rest.join(" ")}`;
    case "campaign":
      return `Campaign ${named}: ${rest.join(" ")}`;
    case "journey":
      return `Journey ${named}: ${rest.join(" ")}`;
    case "last_sent":
      return `Last message by ${key}`;
    default:
      return FIELD_WORDS[field] ?? words(field);
  }
}

/** The rules in words, groups within groups. */
export function rulesInWords(
  { logic, conditions, groups = [] }: Group,
  names: ReadonlyMap<string, string> = new Map(),
): Html {
  const parts = [
    ...conditions.map((one) => html`<li>${conditionWords(one, names)}</li>`),
    ...groups.map((group) => html`<li>${rulesInWords(group, names)}</li>`),
  ];
  if (parts.length === 0) return html`<p>Every player.</p>`;
  if (parts.length === 1) return html`<ul class="inwords">${parts}</ul>`;
  return html`<p>${logic === "or" ? "Any" : "All"} of these:</p><ul class="inwords">${parts}</ul>`;
}

function conditionWords({ field, operator, value }: Condition, names: ReadonlyMap<string, string>): Html {
  const name = html`<b>${fieldWords(field, names)}</b>`;
  const within = windowOf(value);
  if (within)
    return html`${name} ${OPERATOR_WORDS[within.op] ?? within.op} ${within.n}, within ${within.within_days} days`;
  const said = OPERATOR_WORDS[operator] ?? operator.replaceAll("_", " ");
  if (operator.endsWith("_days")) return html`${name} ${said.replace(" days", ` ${valueWords(value)} days`)}`;
  return html`${name} ${said} ${valueWords(value)}`;
}

interface Window {
  op: string;
  n: number;
  within_days: number;
}

function windowOf(value: unknown): Window | null {
  return typeof value === "object" && value !== null && "within_days" in value ? (value as Window) : null;
}

function valueWords(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(valueWords).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
