import { z } from "zod";
import { andVisible } from "#db/query/to-sql.ts";
import { identifier, join } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { readableOf } from "./columns.ts";
import type { Context } from "./context.ts";
import { foldCasing, parseInput } from "./input.ts";
import { type Operation, tool } from "./operation.ts";
import type { Table } from "./table.ts";

type Values = Record<string, unknown>;

/** The way in which an upsert finds existing rows. */
export interface Merging {
  /** Columns of one of the table's keys. Null: the id where a row has one, else the table's own key. */
  on: readonly string[] | null;
  /** Existing rows stay unchanged, and the answer leaves them out. */
  ignore: boolean;
}

/**
 * An operation that creates a row, or changes the row with its key. It runs the table's own two operations, with
 * their checks, hooks, events and audit rows. Skipped rows are answered as null.
 */
export function upsertOperation(create: Operation, update: Operation, merging: Merging): Operation {
  const { table } = create.crud!;
  if (merging.on && !keysOf(table).some((key) => key.join() === merging.on!.toSorted().join())) {
    const known = keysOf(table).map((key) => key.join(","));
    throw invalid("on_conflict", `must be a key of ${table.name}: ${known.join(", or ")}`);
  }
  const operation = tool({
    ...create,
    merges: merging.ignore ? "new" : "all",
    property: null,
    input: {},
    output: z.unknown(),
    status: 200,
    handler: async (context: Context, row: Values) => {
      const id = await findRow(context, table, row, merging.on);
      if (id !== null && merging.ignore) return null;
      const chosen = id === null ? create : update;
      context.audit({ action: chosen.name });
      const { id: _, ...values } = row;
      const input = parseInput(chosen, foldCasing(chosen, id === null ? values : { ...values, id }));
      return chosen.handler(context, input);
    },
  });
  const { afterwards } = update;
  return { ...operation, input: z.looseObject({}), ...(afterwards && { afterwards }) };
}

function keysOf(table: Table): (readonly string[])[] {
  return [["id"], ...(table.key.length > 0 ? [table.key.toSorted()] : [])];
}

/** The id of the row with the key, locked against another upsert of the same key; null when there is none. */
async function findRow(
  { sql, property }: Context,
  table: Table,
  row: Values,
  on: Merging["on"],
): Promise<string | null> {
  const key = on ?? (row.id !== undefined ? ["id"] : table.key);
  if (key.length === 0) return null;
  const values = key.map((name) => {
    const parsed = (name === "id" ? z.uuid() : table.columns[name]!.schema).safeParse(row[name]);
    if (parsed.success && parsed.data !== undefined && parsed.data !== null) return String(parsed.data);
    if (row[name] === undefined || row[name] === null) return null;
    throw invalid(name, parsed.error?.issues[0]?.message ?? "is not valid");
  });
  // A row without a value for its key is a new one, as NULL is equal to nothing.
  if (values.includes(null)) return null;
  const lockName = `${table.name} ${property.id} ${key.join()} ${JSON.stringify(values)}`;
  await sql`select pg_advisory_xact_lock(hashtextextended(${lockName}, 0))`;
  const conditions = key.map((name, index) => sql`${identifier(name)} = ${values[index]!}`);
  const [found] = await sql<{ id: string }[]>`
    select id from ${identifier(table.name)}
    where property_id = ${property.id} and ${join(conditions, " and ")} ${andVisible(readableOf(table))}`;
  if (found || key[0] !== "id") return found?.id ?? null;
  throw new Fault("not_found", {
    message: `No record with the id ${values[0]} in this property. Leave the id out for a new record.`,
  });
}
