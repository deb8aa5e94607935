import type { Fault, FaultDetail } from "#runtime/faults.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { flagOf } from "./arguments.ts";
import { inCommands } from "./program.ts";

/** A message whose subject is the field. */
const PREDICATE = /^(is|are|must|needs?|has|have|holds?|names|takes|cannot|belongs|contains|contradicts) /;

/** A refusal for people: with flags in place of fields, and commands in place of tools. */
export function refusalText(fault: Fault, operation: Operation, catalog: Catalog): string {
  const { code, message, details = [] } = fault;
  const first = details[0];
  // Programs branch on the token of such a refusal; its detail is for people.
  if (message === code && first) return `${code}: ${sentence(first, operation)}`;
  if (code !== "invalid" || !first || !message.startsWith(`${first.field}: `)) {
    return inCommands(message, catalog);
  }
  return inCommands(details.map((one) => sentence(one, operation)).join("\n"), catalog);
}

function sentence({ field, message }: FaultDetail, operation: Operation): string {
  const subject = subjectOf(field, operation);
  return PREDICATE.test(message) ? `${subject} ${message}` : `${subject}: ${message}`;
}

/** The flag of a field, with the place within its value: `conditions.0.operator` is `--conditions (0.operator)`. */
function subjectOf(field: string, { input, crud, property }: Operation): string {
  if (field === "credential") return "--key";
  if (field === "X-Property-Id" || field === property) return "--property";
  const [, root = "", place = ""] = /^([^.[]+)\.?(.*)$/.exec(field) ?? [];
  if (Object.hasOwn(input.shape, root)) return `--${flagOf(root)}${place && ` (${place})`}`;
  return crud?.verb === "list" && !field.startsWith("-") ? `--filter ${field}` : field;
}
