import type { TransactionOptions, Work } from "#db/database.ts";
import type { Call } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { callerOf } from "./access.ts";
import { isDry } from "./dry-run.ts";
import type { Choose, Service } from "./service.ts";

/** One call, its inputs parsed. */
export interface Run {
  service: Service;
  operation: Operation;
  call: Call;
  property: Property | null;
  inputs: Record<string, unknown>[];
  many?: boolean | undefined;
  choose?: Choose | undefined;
  dry?: boolean | undefined;
}

/** The transaction of a whole call: after its table's lock, and shared with such calls where the operation allows it. */
export function transactCall<T>(call: Run, work: Work<T>): Promise<T> {
  const { table, verb } = call.operation.crud ?? {};
  const lock = verb === "create" || verb === "update" ? table?.lock?.(call.property!.id) : undefined;
  return transact(call, work, { ...(lock && { before: [lock] }), group: doesNoMore(call) && groupOf(call) });
}

function groupOf({ operation: { crud, sharing }, inputs }: Run) {
  if (sharing) return sharing(inputs[0]! as never);
  return crud?.verb === "create" && crud.table.groupCommit === true;
}

/** Whether the call does one thing and no more: it sets no savepoint, and its answer is not rolled back. */
export function doesNoMore({ operation, call, many, choose, inputs, dry }: Run): boolean {
  return !(many || choose || call.mustAsk || call.review || isDry({ operation, inputs, dry }));
}

/** One transaction of a call: as its tenant, or over the platform's own tables. */
export function transact<T>(
  { service, operation, call, property }: Omit<Run, "inputs">,
  work: Work<T>,
  opening: Pick<TransactionOptions, "before" | "group"> = {},
): Promise<T> {
  const tenant = operation.realm === "property";
  const { deadline, discarded } = operation;
  const writes = writesRows(operation);
  const options = {
    readOnly: !writes && !discarded,
    ...(writes && { caller: callerOf(call) }),
    ...(deadline && { deadline }),
    ...opening,
  };
  return tenant ? service.db.asProperty(property!.id, work, options) : service.db.asSystem(work, options);
}

export function writesRows({ effect, recorded }: Operation): boolean {
  return effect !== "read" || recorded;
}
