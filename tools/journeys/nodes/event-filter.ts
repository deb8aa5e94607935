import { z } from "zod";

const SIGNS = { eq: "==", neq: "!=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
type Sign = keyof typeof SIGNS;
const OPERATORS = [...(Object.keys(SIGNS) as Sign[]), "in", "is_set"] as const;

const Plain = z.union([z.string().max(500), z.number(), z.boolean()]);

/** A condition on the properties of one event. */
export const PropertyCondition = z.strictObject({
  property: z.string().min(1).max(100).describe('The name of a property of the event, such as "amount"'),
  operator: z.enum(OPERATORS).describe("As in segments; neq holds also where the event has no such property"),
  value: z
    .union([Plain, z.array(Plain).min(1).max(100)])
    .optional()
    .describe("A list with in; left out with is_set"),
});
export type PropertyCondition = z.output<typeof PropertyCondition>;

/** The conditions on an event's properties, all of which must hold. */
export const EventFilter = z.array(PropertyCondition).max(20).default([]);

/** The first condition whose value does not fit its operator, in words. */
export function filterProblem(
  conditions: readonly PropertyCondition[],
): { index: number; message: string } | null {
  for (const [index, { operator, value }] of conditions.entries()) {
    const wants =
      operator === "in" ? Array.isArray(value) : operator === "is_set" ? value === undefined : isPlain(value);
    if (wants) continue;
    const form =
      operator === "in" ? "a list" : operator === "is_set" ? "left out" : "a text, number or boolean";
    return { index, message: `with ${operator} the value must be ${form}` };
  }
  return null;
}

function isPlain(value: unknown): boolean {
  return value !== undefined && !Array.isArray(value);
}

/** The conditions as a jsonpath predicate over the event's properties; null for none. */
export function filterPath(conditions: readonly PropertyCondition[]): string | null {
  if (conditions.length === 0) return null;
  return conditions.map((condition) => `(${predicate(condition)})`).join(" && ");
}

function predicate({ property, operator, value }: PropertyCondition): string {
  const path = `$.${JSON.stringify(property)}`;
  if (operator === "is_set") return `exists(${path})`;
  if (operator === "in")
    return (value as unknown[]).map((one) => `${path} == ${JSON.stringify(one)}`).join(" || ");
  if (operator === "neq") return `!(${path} == ${JSON.stringify(value)})`;
  return `${path} ${SIGNS[operator]} ${JSON.stringify(value)}`;
}
