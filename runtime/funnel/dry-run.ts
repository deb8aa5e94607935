import { invalid } from "#runtime/faults.ts";
import { canBeTried, type Operation } from "#runtime/operation/operation.ts";
import type { Outcome } from "./service.ts";

/** Rolls a call's transaction back, which is answered all the same: a dry run, or a key's recorded answer. */
export class Undone extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super("a call is undone and answered");
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
