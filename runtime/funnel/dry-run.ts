import { invalid } from "#runtime/faults.ts";
import { canBeTried, type Operation } from "#runtime/operation/operation.ts";
import type { Outcome } from "./service.ts";

/**
 * Rolls a call's transaction back, and carries the answer that is given all the same: a dry run's, or a recorded one.
 */
export class Undone extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super("the call is rolled back, and answered all the same");
    this.outcome = outcome;
  }
}

/** Whether the call is rolled back: `dry` marks the whole request, or each input says `dry_run`. Throws `invalid`. */
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
  throw invalid("dry_run", "must be the same in all records of a request");
}

/** The answer that the call would have given, marked as a dry run. Nothing goes on behind it, so 202 becomes 200. */
export function dryOutcome({ status, secrets }: Operation, result: unknown): Outcome {
  // Null: the record would stay unchanged.
  const marked = (one: unknown) => one && { ...(without(one, secrets) as object), dry_run: true };
  const value = Array.isArray(result) ? result.map(marked) : marked(result);
  return { status: status === 202 ? 200 : status, body: JSON.stringify(value), replayed: false, dry: true };
}

/** The result without the fields that are shown once. */
export function without(result: unknown, secrets: readonly string[]): unknown {
  if (Array.isArray(result)) return result.map((one) => without(one, secrets));
  if (typeof result !== "object" || result === null) return result;
  return Object.fromEntries(Object.entries(result).filter(([key]) => !secrets.includes(key)));
}
