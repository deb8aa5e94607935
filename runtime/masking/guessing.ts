import type { z } from "zod";
import { operatorAmong } from "#db/query/conditions.ts";
import { OPTIONS } from "#db/query/parse.ts";
import { invalid } from "#runtime/faults.ts";
import { elementOf, fieldOf, isFree } from "#runtime/operation/field-kind.ts";
import { GUARDED } from "./values.ts";

/** Fields that are masked in answers, by the names that filters and rules have for them. */
const HIDDEN = [
  ...["email", "phone", "phone_e164", "address", "recipient", "sender", "html", "text", "decided_by_email"],
  ...GUARDED,
];
/** Of these every value can be tried: a year has few days, a state has few postal codes. */
const FEW_VALUES = new Set(["birth_date", "postal_code"]);
/** The fields of reading calls that look people up by their addresses. */
const LOOKED_UP = ["email", "emails", "phone", "phones"];
const PRESENCE = new Set(["is", "is_set", "is_not_set", "is_empty"]);
/** A caller who compares a few whole values knows these values already. */
const WHOLE = new Set(["eq", "in", ...PRESENCE]);
/** Whole values in one call. With more of them, all numbers of an area are tried in a few calls. */
const MOST_COMPARED = 100;
const REFUSAL =
  "is masked for you, so it can only be compared with whole values (eq, in) and not be sorted by";
const REFUSAL_OF_FEW =
  "is masked for you, and has so few values that any comparison would tell it; ask only whether it is set";
const REFUSAL_OF_MANY = `is masked for you, so one call compares at most ${MOST_COMPARED} values with it`;

/** Refuses input by which a masked value could be guessed, letter by letter or by trying. `more`: further masked columns. */
export function refuseGuessing(
  input: Record<string, unknown>,
  { schema, more }: { schema: z.ZodType; more: readonly string[] },
): void {
  const hidden = new RegExp(`(?<![a-z_])(${[...HIDDEN, ...more].join("|")})(?![a-z_@])`);
  let compared = 0;
  const compare = (at: string, field: string, operator: string | undefined, values: () => number) => {
    const [name = null] = hidden.exec(field) ?? [];
    if (name === null) return;
    const isFew = FEW_VALUES.has(name);
    if (!(isFew ? PRESENCE : WHOLE).has(operator ?? "")) throw invalid(at, isFew ? REFUSAL_OF_FEW : REFUSAL);
    compared += values();
    if (compared > MOST_COMPARED) throw invalid(at, REFUSAL_OF_MANY);
  };
  const compareFilter = (key: string, value: string) => {
    const isGroup = /^(?:not\.)?(?:or|and)$/.test(key);
    if (isGroup && hidden.test(value)) throw invalid(key, REFUSAL);
    const operator = operatorAmong(`${key}.${value}`.split(".").slice(1));
    compare(key, key, operator, () => (operator === "in" ? value.split(",").length : 1));
  };
  const { filters, order } = input;
  if (typeof order === "string" && hidden.test(order)) throw invalid("order", REFUSAL);
  if (typeof filters === "object" && filters !== null) {
    for (const [key, value] of Object.entries(filters)) compareFilter(key, String(value));
  }
  for (const [key, value] of pairsOf(input)) {
    if (key === "order" && hidden.test(value)) throw invalid(key, REFUSAL);
    if (!OPTIONS.has(key)) compareFilter(key, value);
  }
  for (const { path, field, operator, value } of rulesIn(input, [schema])) {
    compare(path || "conditions", field, operator, () => (Array.isArray(value) ? value.length : 1));
  }
}

/** Refuses a look-up of many people by their addresses: it tells which of the addresses a player has. */
export function refuseManyLookups(input: Record<string, unknown>): void {
  const given = LOOKED_UP.filter((key) => input[key] !== undefined);
  const count = given.flatMap((key) => input[key]).length;
  if (count > MOST_COMPARED) throw invalid(given[0]!, REFUSAL_OF_MANY);
}

/** The filters of a list that is asked for by an address's query. */
function pairsOf({ query }: Record<string, unknown>): [string, string][] {
  return Array.isArray(query) ? query.map(([key, value]) => [String(key), String(value)]) : [];
}

interface RuleRow {
  path: string;
  field: string;
  operator: string;
  value: unknown;
}

/** Rule rows, wherever they stand but in free data. */
function* rulesIn(given: unknown, schemas: readonly z.ZodType[], path = ""): Generator<RuleRow> {
  if (typeof given !== "object" || given === null || schemas.some(isFree)) return;
  const { field, operator, value } = given as Record<string, unknown>;
  if (typeof field === "string" && typeof operator === "string") yield { path, field, operator, value };
  const isList = Array.isArray(given);
  for (const [key, inner] of Object.entries(given)) {
    const own = schemas.flatMap((schema) => (isList ? elementOf(schema) : fieldOf(schema, key)));
    yield* rulesIn(inner, own, isList ? `${path}[${key}]` : path ? `${path}.${key}` : key);
  }
}
