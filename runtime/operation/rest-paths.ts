import type { Operation } from "./operation.ts";
import type { Verb } from "./table.ts";

/** The REST path of a function. */
export function pathOf({ name, at }: Pick<Operation, "name" | "at">): string {
  return at?.path ?? `/api/functions/${name.replaceAll("_", "-")}`;
}

export function methodsOf({ at }: Operation): readonly string[] {
  return at?.methods ?? ["POST"];
}

/** The REST path of a list beneath a record; `id` stands for the record in the path. */
export function pathBeneath({ table, name }: NonNullable<Operation["beneath"]>, id = "{id}"): string {
  return `/api/${table.name}/${id}/${name}`;
}

/** The REST paths of an operation, each with its method in lower case. */
export function routesOf(operation: Operation): [string, string][] {
  if (!operation.crud) {
    return [
      ...methodsOf(operation).map((method): [string, string] => [pathOf(operation), method.toLowerCase()]),
      ...(operation.beneath ? [[pathBeneath(operation.beneath), "get"] satisfies [string, string]] : []),
    ];
  }
  const { table, verb } = operation.crud;
  const collection = `/api/${table.name}`;
  const record = `${collection}/{id}`;
  const routes: Record<Verb, [string, string][]> = {
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
  return routes[verb];
}
