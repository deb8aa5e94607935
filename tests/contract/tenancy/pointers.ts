import type { Operation } from "#runtime/operation/operation.ts";
import type { Table } from "#runtime/operation/table.ts";
import { CATALOG } from "#tools/catalog.ts";
import { idFields, inputFor, pointsTo } from "../../support/operation-calls.ts";
import type { Planted } from "../planted-rows.ts";

export interface Pointer {
  operation: Operation;
  field: string;
  many: boolean;
  table: Table;
}

/** Every id field of every operation that points into a tenant's table. */
export function pointers(): Pointer[] {
  return [...CATALOG.operations.values()]
    .filter(({ realm }) => realm === "property")
    .flatMap((operation) =>
      idFields(operation).flatMap(({ field, many }) => {
        const table = field === operation.property ? undefined : pointsTo(operation, field);
        return table ? [{ operation, field, many, table }] : [];
      }),
    );
}

/** The operation's input with one field naming a record, and every other id field a record of a tenant's own. */
export function inputNaming(
  { operation, field, many }: Pointer,
  id: string,
  { tenant, own }: { tenant: string; own: Planted },
): Record<string, unknown> {
  const wanted = inputFor(operation);
  const mine = idFields(operation)
    .filter((one) => one.field in wanted || one.field === "id")
    .flatMap((one) => {
      const table = pointsTo(operation, one.field);
      const ours = one.field === operation.property ? tenant : table && own.get(table.name)?.id;
      return ours ? [[one.field, one.many ? [ours] : ours]] : [];
    });
  return { ...wanted, ...Object.fromEntries(mine), [field]: many ? [id] : id };
}
