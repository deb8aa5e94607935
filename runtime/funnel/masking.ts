import { Fault } from "#runtime/faults.ts";
import { refuseGuessing } from "#runtime/masking/guessing.ts";
import { maskedText, maskedValue } from "#runtime/masking/values.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Outcome } from "./service.ts";

/** Refuses what would show personal data past the masking: a file, and a filter that guesses. */
export function refusePastMasking(operation: Operation, inputs: readonly Record<string, unknown>[]): void {
  if (operation.file) {
    throw new Fault("forbidden", {
      message: "Personal data is masked for you, and a file shows it whole. A manager can make the file.",
    });
  }
  for (const input of inputs) refuseGuessing(input);
}

/** The outcome without personal data in its record or rows, and in the sentences beside them. */
export function maskedOutcome({ warnings, page, ...outcome }: Outcome): Outcome {
  return {
    ...outcome,
    body: JSON.stringify(maskedValue(JSON.parse(outcome.body))),
    ...(page && { page: { ...page, ...(page.warnings && { warnings: page.warnings.map(maskedText) }) } }),
    ...(warnings && { warnings: warnings.map(maskedText) }),
  };
}
