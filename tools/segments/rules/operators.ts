import { type Fragment, sql } from "#db/sql.ts";
import { invalid } from "#runtime/faults.ts";
import { COMPARISONS } from "./compare.ts";
import { DATE_OPERATORS } from "./dates.ts";
import { occurred, windowed } from "./event-fields.ts";
import type { Field, FieldType } from "./field.ts";
import type { Operator } from "./operator.ts";
import { SET_OPERATORS } from "./sets.ts";
import { TEXT_OPERATORS } from "./text.ts";
import { type Position, positionAt } from "./values.ts";

const PLAIN = {
  ...COMPARISONS,
  ...TEXT_OPERATORS,
  ...DATE_OPERATORS,
  ...SET_OPERATORS,
};

const not: Operator = {
  on: ["text", "number", "boolean", "timestamp", "date", "uuid", "list", "flag", "segment"],
  value:
    "{operator, value}: a condition of the same field; null, true or false for the opposite of `is`; a text or a number for that of `eq`",
  meaning: "matches where the other operator does not",
  missing: true,
  sql(field, value, at) {
    const { operator, value: inner, ...others } = rowOf(value);
    if (typeof operator !== "string" || operator === "not" || Object.keys(others).length > 0) {
      throw at.wrong("must be {operator, value} with an operator other than not; or one value");
    }
    const position = isObject(value) ? positionAt(at.scope, `${at.path}.value`) : at;
    return sql`(${applied(field, operator, inner, position)}) is not true`;
  },
};

const OPERATORS: Record<string, Operator> = { ...PLAIN, not };

type OperatorWords = Pick<Operator, "only" | "value" | "meaning"> & { missing?: true };

export type OperatorName = keyof typeof PLAIN | "not";

export const OPERATOR_NAMES = Object.keys(OPERATORS) as [OperatorName, ...OperatorName[]];

/** Each operator with its description, and its types named once for all operators of a type. */
export function describeOperators() {
  const operators = Object.entries(OPERATORS).map(([name, { only, value, meaning, missing }]) => [
    name,
    { ...(only && { only }), value, meaning, ...(missing && { missing }) },
  ]);
  const types = [...new Set(Object.values(OPERATORS).flatMap(({ on }) => on))];
  return {
    operators_by_type: Object.fromEntries(
      types.map((type) => [type, OPERATOR_NAMES.filter((name) => OPERATORS[name]!.on.includes(type))]),
    ),
    operators: Object.fromEntries(operators) as Record<string, OperatorWords>,
  };
}

/** The operators that apply to a field. */
function operatorsFor(field: { name: string; type: FieldType }): string[] {
  return OPERATOR_NAMES.filter((name) => applies(OPERATORS[name]!, field));
}

/** One condition's SQL. Throws the fault that names the operator or the value. */
export function applied(field: Field, name: string, value: unknown, at: Position): Fragment {
  const operator = operatorFor(field, name, at);
  const { events } = field;
  if (!events || name === "not") return operator.sql(field, value, at);
  const window = name === "is" ? windowed(value, at) : null;
  if (!window) return occurred({ ...field, events }, { ...operator, name }, value, at, null);
  const { op, n, within } = window;
  const inner = operatorFor(field, op, at, ".value.op");
  const position = { ...at, wrong: (message: string, part = "") => at.wrong(message, `.n${part}`) };
  return occurred({ ...field, events }, { ...inner, name: op }, n, position, within);
}

function operatorFor(field: Field, name: string, at: Position, part = ".operator"): Operator {
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
  if (typeof value === "string" || typeof value === "number") return { operator: "eq", value };
  return isObject(value) ? value : {};
}
