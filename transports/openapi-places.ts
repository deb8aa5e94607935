import type { Operation, Verb } from "#runtime/operation.ts";
import { JOB_ROWS } from "./job-rows.ts";
import { methodsOf, pathOf } from "./rest.ts";

/** One path and method, in lower case, at which an operation is reached over REST. */
export interface Place {
  operation: Operation;
  path: string;
  method: string;
  /** It is about the record that the address names. */
  onRecord: boolean;
  /** It is about every record that the filters match. */
  isMatching: boolean;
  /** It lists what a job has found, beside the job. */
  isRows: boolean;
  /** Records that are there can be changed instead of refused. */
  upserts: boolean;
}

/** Each path and method, in lower case, at which an operation is reached over REST. */
export function placesOf(operation: Operation): [string, string][] {
  if (!operation.crud) {
    const rows = JOB_ROWS.filter(({ list }) => list === operation).map(({ path }): [string, string] => [
      path,
      "get",
    ]);
    return [
      ...methodsOf(operation).map((method): [string, string] => [pathOf(operation), method.toLowerCase()]),
      ...rows,
    ];
  }
  const { table, verb } = operation.crud;
  const collection = `/api/${table.name}`;
  const record = `${collection}/{id}`;
  const places: Record<Verb, [string, string][]> = {
    list: [[collection, "get"]],
    create: [[collection, "post"]],
    get: [[record, "get"]],
    update: [
      [record, "patch"],
      [collection, "patch"],
    ],
    delete: [
      [record, "delete"],
      [collection, "delete"],
    ],
  };
  return places[verb];
}

export function placeAt(operation: Operation, [path, method]: [string, string], upserts: boolean): Place {
  const { crud } = operation;
  const named = path.includes("{id}");
  return {
    ...{ operation, path, method, upserts },
    onRecord: crud !== undefined && named,
    isRows: crud === undefined && named,
    isMatching: !named && (crud?.verb === "update" || crud?.verb === "delete"),
  };
}
