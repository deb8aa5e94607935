import { invalid } from "#runtime/faults.ts";
import { listedColumns, readableOf } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Table } from "#runtime/operation/table.ts";

/** The amount of each record in a list's answer. */
export const DETAILS = ["concise", "full"] as const;

const LONGEST = 100;

/** Whether the caller can choose its columns. */
export function hasColumns({ crud }: Operation): boolean {
  return crud?.verb === "list";
}

/**
 * A list's input with the columns to read: those in `fields`, the concise ones, or all. Throws `invalid` for an unknown
 * column, and names the known ones.
 */
export function withColumns(
  { crud }: Operation,
  { fields, detail, ...input }: Record<string, unknown>,
): Record<string, unknown> {
  const { table } = crud!;
  const wanted = DETAILS.find((one) => one === (detail ?? "concise"));
  if (!wanted) throw invalid("detail", `must be one of ${DETAILS.join(", ")}`);
  if (fields === undefined) {
    const isSettled = input.select !== undefined || wanted === "full";
    return isSettled ? input : { ...input, select: conciseOf(table) };
  }
  if (input.select !== undefined) throw invalid("fields", "is the same as select; give one of them");
  return { ...input, select: named(table, fields) };
}

const concise = new WeakMap<Table, string>();

function conciseOf(table: Table): string {
  let columns = concise.get(table);
  if (columns === undefined) {
    columns = listedColumns(table).join(",");
    concise.set(table, columns);
  }
  return columns;
}

function named(table: Table, fields: unknown): string {
  const known = Object.keys(readableOf(table).columns);
  const listed = Array.isArray(fields) && fields.length > 0 && fields.length <= LONGEST;
  if (!listed) throw invalid("fields", `is a list of columns; there are ${known.join(", ")}`);
  const stray = fields.filter((name) => !known.includes(name));
  if (stray.length === 0) return [...new Set(fields)].join(",");
  const names = stray.slice(0, 3).map((name) => JSON.stringify(name).slice(0, 60));
  throw invalid("fields", `no column ${names.join(", ")}; there are ${known.join(", ")}`);
}
