import { Fault, invalid } from "#runtime/faults.ts";
import { refuseGuessing, refuseManyLookups } from "#runtime/masking/guessing.ts";
import { isMaskedForm, maskedText, maskedValue } from "#runtime/masking/values.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Outcome } from "./service.ts";

/** Refuses what would show personal data past the masking: a file, a person's whole data, and a filter that guesses. */
export function refusePastMasking(operation: Operation, inputs: readonly Record<string, unknown>[]): void {
  if (operation.file || operation.zipped) {
    throw new Fault("forbidden", {
      message: "Personal data is masked for you, and a file shows it whole. A manager can make the file.",
    });
  }
  for (const input of inputs) {
    refuseGuessing(input, { schema: operation.input, more: renderedColumns(operation) });
    if (operation.effect === "read") refuseManyLookups(input);
    else refuseMaskedForms(input);
  }
}

/** A record that was read masked and is written back would lose what it has. */
function refuseMaskedForms(value: unknown, path = ""): void {
  if (typeof value === "string" && isMaskedForm(value)) {
    throw invalid(path, "is what you were shown in place of the value; leave the field out to keep it");
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) refuseMaskedForms(inner, path ? `${path}.${key}` : key);
}

/** The operation's outcome without personal data in its record or rows, and in the sentences beside them. */
export function maskedOutcome(operation: Operation, { warnings, page, ...outcome }: Outcome): Outcome {
  return {
    ...outcome,
    body: JSON.stringify(maskedValue(withoutRendered(operation, JSON.parse(outcome.body)))),
    ...(page && { page: { ...page, ...(page.warnings && { warnings: page.warnings.map(maskedText) }) } }),
    ...(warnings && { warnings: warnings.map(maskedText) }),
  };
}

const LEFT_OUT = "•••";

/** The record, or each of the rows, without the values that were filled in for one person. */
function withoutRendered(operation: Operation, value: unknown): unknown {
  const rendered = renderedColumns(operation);
  if (rendered.length === 0) return value;
  const blanked = (record: object) =>
    Object.fromEntries(
      Object.entries(record).map(([name, one]) => [name, rendered.includes(name) ? blank(one) : one]),
    );
  return Array.isArray(value) ? value.map(blanked) : blanked(Object(value));
}

function renderedColumns({ crud }: Operation): string[] {
  const columns = Object.entries(crud?.table.columns ?? {});
  return columns.flatMap(([name, { rendered }]) => (rendered ? [name] : []));
}

function blank(value: unknown): unknown {
  if (typeof value === "string") return LEFT_OUT;
  return value === null ? null : {};
}
