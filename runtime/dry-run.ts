import { z } from "zod";
import type { Context } from "./context.ts";
import { invalid } from "./faults.ts";
import type { Outcome } from "./invoke.ts";
import type { Operation } from "./operation.ts";

const DRY_RUN = z.boolean().default(false).describe("Only says what would happen, and changes nothing");
const WAS_DRY = z.literal(true).optional().describe("Nothing was changed: this is what would have happened");

/** Whether it reaches people, cannot be taken back or changes many records: the funnel then undoes what says `dry_run`. */
export function canBeTried({ effect, access, bulk }: Operation): boolean {
  return (isGrave({ effect }) || bulk) && access !== "public";
}

/** Whether it reaches people or cannot be taken back, so that an agent is shown first what it would do. */
export function isGrave({ effect }: Pick<Operation, "effect">): boolean {
  return effect === "contact" || effect === "destroy";
}

/** The operation with `dry_run`, which its handler is given only where it has more to say of it. */
export function tried(operation: Operation): Operation {
  const { input, output } = operation;
  const own = Object.hasOwn(input.shape, "dry_run");
  const handler = (context: Context, given: Record<string, unknown>) => {
    const { dry_run: _, ...rest } = given;
    return operation.handler(context, (own ? given : rest) as never);
  };
  return {
    ...operation,
    input: z.strictObject({ dry_run: DRY_RUN, ...input.shape }),
    output: output instanceof z.ZodObject ? output.extend({ dry_run: WAS_DRY }) : output,
    handler,
  };
}

/** Ends a dry run: its transaction is rolled back, and this is what it would have answered. */
export class Undone extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super("a dry run is undone");
    this.outcome = outcome;
  }
}

/** Whether all that is done is undone: `dry` says so of the whole request, or each input does. Throws `invalid`. */
export function isDry({
  operation,
  inputs,
  dry = false,
}: {
  operation: Operation;
  inputs: Record<string, unknown>[];
  dry?: boolean | undefined;
}): boolean {
  if (dry || !canBeTried(operation)) return dry;
  const count = inputs.filter((input) => input.dry_run === true).length;
  if (count === 0 || count === inputs.length) return count > 0;
  throw invalid("dry_run", "is for all records of a request, or for none");
}

/** What the call would have answered, marked as such. */
export function dryOutcome({ status, secrets }: Operation, result: unknown): Outcome {
  // Null: the record would be left as it is.
  const marked = (one: unknown) => one && { ...(without(one, secrets) as object), dry_run: true };
  const value = Array.isArray(result) ? result.map(marked) : marked(result);
  return { status, body: JSON.stringify(value), replayed: false, dry: true };
}

/** Without the fields that are shown once. */
export function without(result: unknown, secrets: readonly string[]): unknown {
  if (Array.isArray(result)) return result.map((one) => without(one, secrets));
  if (typeof result !== "object" || result === null) return result;
  return Object.fromEntries(Object.entries(result).filter(([key]) => !secrets.includes(key)));
}
