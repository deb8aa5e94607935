import { asObject, foldCasing } from "#runtime/input.ts";
import type { Operation } from "#runtime/operation.ts";
import { deprecationHeaders, touchedBy } from "#runtime/versions.ts";
import type { Passed } from "./guarded.ts";

/** Notes on the answer which deprecated fields the request touches. `select` are the columns asked for. */
export function noteFields(
  { deprecations, frame }: Passed,
  operation: Operation,
  input: unknown,
  select: readonly string[] | null = null,
): void {
  if (deprecations.length === 0) return;
  const given = [input].flat().flatMap((one) => Object.keys(foldCasing(operation, asObject(one))));
  const touched = touchedBy(deprecations, given, (field) => select === null || select.includes(field));
  frame.notices = deprecationHeaders(touched);
}
