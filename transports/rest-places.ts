import type { Operation, Verb } from "#runtime/operation.ts";

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

/** Where a function is reached over REST. */
export function pathOf({ name, at }: Pick<Operation, "name" | "at">): string {
  return at?.path ?? `/api/functions/${name.replaceAll("_", "-")}`;
}

export function methodsOf({ at }: Operation): readonly string[] {
  return at?.methods ?? ["POST"];
}

/** Where what belongs to a record is listed beneath it; `id` is how the route names the record. */
export function pathBeneath({ table, name }: NonNullable<Operation["beneath"]>, id = "{id}"): string {
  return `/api/${table.name}/${id}/${name}`;
}

/** Each path and method, in lower case, at which an operation is reached over REST. */
export function placesOf(operation: Operation): [string, string][] {
  if (!operation.crud) {
    return [
      ...methodsOf(operation).map((method): [string, string] => [pathOf(operation), method.toLowerCase()]),
      ...(operation.beneath ? [[pathBeneath(operation.beneath), "get"] satisfies [string, string]] : []),
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
