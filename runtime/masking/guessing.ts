import { operatorAmong } from "#db/query/conditions.ts";
import { OPTIONS } from "#db/query/parse.ts";
import { invalid } from "#runtime/faults.ts";
import { GUARDED } from "./values.ts";

/** Fields that are masked in answers, by the names that filters and rules have for them. */
const HIDDEN = [
  ...["email", "phone", "phone_e164", "address", "recipient", "sender", "html", "text", "decided_by_email"],
  ...GUARDED,
];
/** Comparing whole values shows nothing that the caller does not know. */
const WHOLE = new Set(["eq", "in", "is", "is_set", "is_not_set", "is_empty"]);
const REFUSAL =
  "is masked for you, so it can only be compared with whole values (eq, in) and not be sorted by";

/** Refuses input by which a masked value could be guessed letter by letter. `more`: further masked columns. */
export function refuseGuessing(input: Record<string, unknown>, more: readonly string[]): void {
  const hidden = new RegExp(`(?<![a-z_])(?:${[...HIDDEN, ...more].join("|")})(?![a-z_@])`);
  const { filters, order } = input;
  if (typeof order === "string" && hidden.test(order)) throw invalid("order", REFUSAL);
  if (typeof filters === "object" && filters !== null) {
    for (const [key, value] of Object.entries(filters)) refuseFilter(key, String(value), hidden);
  }
  for (const [key, value] of pairsOf(input)) {
    if (key === "order" && hidden.test(value)) throw invalid(key, REFUSAL);
    if (!OPTIONS.has(key)) refuseFilter(key, value, hidden);
  }
  refuseRules(input, "", hidden);
}

/** The filters of a list that is asked for by an address's query. */
function pairsOf({ query }: Record<string, unknown>): [string, string][] {
  return Array.isArray(query) ? query.map(([key, value]) => [String(key), String(value)]) : [];
}

/** A filter `email.like`, the form `email: "like.a*"`, or a group of several. */
function refuseFilter(key: string, value: string, hidden: RegExp): void {
  const isGroup = /^(?:not\.)?(?:or|and)$/.test(key);
  const text = isGroup ? value : `${key}.${value}`;
  if (!hidden.test(isGroup ? text : key)) return;
  if (isGroup) throw invalid(key, REFUSAL);
  const [, ...words] = text.split(".");
  const operator = operatorAmong(words);
  if (!WHOLE.has(operator ?? "")) throw invalid(key, REFUSAL);
}

/** Rule rows, wherever they stand. */
function refuseRules(value: unknown, path: string, hidden: RegExp): void {
  if (typeof value !== "object" || value === null) return;
  const { field, operator } = value as { field?: unknown; operator?: unknown };
  if (
    typeof field === "string" &&
    typeof operator === "string" &&
    hidden.test(field) &&
    !WHOLE.has(operator)
  ) {
    throw invalid(path || "conditions", REFUSAL);
  }
  for (const [key, inner] of Object.entries(value)) {
    refuseRules(inner, Array.isArray(value) ? `${path}[${key}]` : path ? `${path}.${key}` : key, hidden);
  }
}
