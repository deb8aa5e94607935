import { z } from "zod";
import { EVENT_NAME, EVENT_NAME_WORDS } from "#tools/events/player-events.table.ts";
import type { NodeProblem } from "./node.ts";

const SIGNS = { eq: "==", neq: "!=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
type Sign = keyof typeof SIGNS;
const OPERATORS = [...(Object.keys(SIGNS) as Sign[]), "in", "is_set"] as const;

const Plain = z.union([z.string().max(500), z.number(), z.boolean()]);

/** The name of a player event. */
export const EventName = z.string().regex(new RegExp(`^${EVENT_NAME}$`), EVENT_NAME_WORDS);

/** A condition on the properties of one event. */
const PropertyCondition = z.strictObject({
  property: z.string().min(1).max(100).describe('The name of a property of the event, such as "amount"'),
  operator: z.enum(OPERATORS).describe("As in segments; neq holds also where the event has no such property"),
  value: z
    .union([Plain, z.array(Plain).min(1).max(100)])
    .optional()
    .describe("A list with in; left out with is_set"),
});
type PropertyCondition = z.output<typeof PropertyCondition>;

/** The conditions on an event's properties, all of which must hold. */
export const EventFilter = z.array(PropertyCondition).max(20).default([]);

/** The conditions whose values do not fit their operators, in words. `at`: the path of the conditions. */
export function filterProblems(conditions: readonly PropertyCondition[], at: string): NodeProblem[] {
  return conditions.flatMap(({ operator, value }, index) => {
    const fits =
      operator === "in" ? Array.isArray(value) : operator === "is_set" ? value === undefined : isPlain(value);
    if (fits) return [];
    const form =
      operator === "in" ? "a list" : operator === "is_set" ? "left out" : "a text, number or boolean";
    return [{ field: `${at}[${index}].value`, message: `must be ${form} with the operator ${operator}` }];
  });
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
  // A value of another type is another value; a bare comparison with it is unknown, and so is its negation.
  if (operator === "neq") return `!exists(${path} ? (@ == ${JSON.stringify(value)}))`;
  return `${path} ${SIGNS[operator]} ${JSON.stringify(value)}`;
}
