import type { TransactionOptions, Work } from "#db/database.ts";
import type { Call } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
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

/** The credential of a call, by which its writes and reads are recognized. */
export function callerOf({ actor }: Call): string {
  return `${actor.type} ${actor.id}`;
}

export function writesRows({ effect, recorded }: Operation): boolean {
  return effect !== "read" || recorded;
}
