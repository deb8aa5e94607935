import type { Operation } from "#runtime/operation/operation.ts";

/** A REST path of an operation with its method, in lower case. */
export interface Endpoint {
  operation: Operation;
  path: string;
  method: string;
  /** The path names one record. */
  isRecord: boolean;
  /** It applies to every record that the filters match. */
  isMatching: boolean;
  /** It lists the rows of a job, beneath the job. */
  isRows: boolean;
  /** A create that can change an existing record. */
  isUpsert: boolean;
}

export function endpointOf(
  operation: Operation,
  [path, method]: [string, string],
  isUpsert: boolean,
): Endpoint {
  const { crud } = operation;
  const hasId = path.includes("{id}");
  return {
    ...{ operation, path, method, isUpsert },
    isRecord: crud !== undefined && hasId,
    isRows: crud === undefined && hasId,
    isMatching: !hasId && (crud?.verb === "update" || crud?.verb === "delete"),
  };
}
