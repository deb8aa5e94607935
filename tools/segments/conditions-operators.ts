import { invalid } from "#runtime/faults.ts";
import { COMPARISONS } from "./conditions-compare.ts";
import { DATE_OPERATORS } from "./conditions-dates.ts";
import { occurred, windowed } from "./conditions-events.ts";
import type { Field, FieldType } from "./conditions-fields.ts";
import type { Operator } from "./conditions-operator.ts";
import { SET_OPERATORS } from "./conditions-sets.ts";
import { TEXT_OPERATORS } from "./conditions-text.ts";
import { type Place, placeAt } from "./conditions-values.ts";

const PLAIN = {
  ...COMPARISONS,
  ...TEXT_OPERATORS,
  ...DATE_OPERATORS,
  ...SET_OPERATORS,
};

const not: Operator = {
  on: ["text", "number", "boolean", "timestamp", "date", "uuid", "list", "flag", "segment"],
  value: "{operator, value}: a condition of the same field; or null, true or false for the opposite of `is`",
  meaning: "matches whatever the other operator does not",
  missing: true,
  sql(field, value, at) {
    const { operator, value: inner, ...others } = rowOf(value);
    if (typeof operator !== "string" || operator === "not" || Object.keys(others).length > 0) {
      throw at.wrong("must be {operator, value} with an operator other than not; or null, true or false");
    }
    const place = operator === "is" && !isObject(value) ? at : placeAt(at.statement, `${at.path}.value`);
    return `(${applied(field, operator, inner, place)}) is not true`;
  },
};

const OPERATORS: Record<string, Operator> = { ...PLAIN, not };

export type OperatorName = keyof typeof PLAIN | "not";

export const OPERATOR_NAMES = Object.keys(OPERATORS) as [OperatorName, ...OperatorName[]];

/** Each operator with what describes it. */
export function describeOperators(): Record<string, Omit<Operator, "sql">> {
  return Object.fromEntries(Object.entries(OPERATORS).map(([name, { sql: _, ...words }]) => [name, words]));
}

/** The operators that apply to a field. */
export function operatorsFor(field: { name: string; type: FieldType }): string[] {
  return OPERATOR_NAMES.filter((name) => applies(OPERATORS[name]!, field));
}

/** One condition's SQL. Throws the fault that names the operator or the value. */
export function applied(field: Field, name: string, value: unknown, at: Place): string {
  const operator = operatorFor(field, name, at);
  const { events } = field;
  if (!events || name === "not") return operator.sql(field, value, at);
  const asked = name === "is" ? windowed(value, at) : null;
  if (!asked) return occurred({ ...field, events }, { ...operator, name }, value, at, null);
  const { op, n, within } = asked;
  const inner = operatorFor(field, op, at, ".value.op");
  const place = { ...at, wrong: (message: string, part = "") => at.wrong(message, `.n${part}`) };
  return occurred({ ...field, events }, { ...inner, name: op }, n, place, within);
}

function operatorFor(field: Field, name: string, at: Place, part = ".operator"): Operator {
  const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (!operator) throw invalid(`${at.path}${part}`, `must be one of ${OPERATOR_NAMES.join(", ")}`);
  if (!applies(operator, field)) {
    throw invalid(
      `${at.path}${part}`,
      `${name} does not apply to ${field.name} (${field.type}); use one of ${operatorsFor(field).join(", ")}`,
    );
  }
  return operator;
}

function applies({ on, only }: Operator, field: { name: string; type: FieldType }): boolean {
  return on.includes(field.type) && (only?.includes(field.name) ?? true);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function rowOf(value: unknown): Record<string, unknown> {
  if (value === null || typeof value === "boolean") return { operator: "is", value };
  return isObject(value) ? value : {};
}
