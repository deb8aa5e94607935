import { randomUUIDv7 } from "node:crypto";
import { isSqlState } from "#db/connection/error-code.ts";
import { assignments, type Fragment, identifier, insertedValues, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { locationOf, seal } from "#runtime/secrets/sealing.ts";
import { columnNames, sealedColumns } from "./columns.ts";
import type { Context } from "./context.ts";
import type { Columns, RowOf, Table } from "./table.ts";

/** Inserts a row of a table and answers it as the reader prints it. */
export async function insert<C extends Columns>(
  context: Context,
  table: Table<C>,
  values: object,
): Promise<RowOf<C>> {
  const row = { ...sealedValues(context, table, null, values), property_id: context.property.id };
  return write(context, table, values, sql`insert into ${identifier(table.name)} ${insertedValues(row)}`);
}

/** Updates a row of a table and answers it as the reader prints it. */
export async function update<C extends Columns>(
  context: Context,
  table: Table<C>,
  rowId: string,
  values: object,
): Promise<RowOf<C>> {
  const row = { ...sealedValues(context, table, rowId, values), updated_at: "now" };
  const updated = sql`
    update ${identifier(table.name)} set ${assignments(row)}
    where property_id = ${context.property.id} and id = ${rowId}`;
  return write(context, table, values, updated);
}

async function write<C extends Columns>(
  { sql: transaction }: Context,
  table: Table<C>,
  values: object,
  written: Fragment,
): Promise<RowOf<C>> {
  const columns = columnNames(table);
  // A cluster takes no subquery and no stable function in a write: computed columns are read by a statement after it.
  const isReadAfter = columns.texts.some((text) => text.includes("("));
  const returned = isReadAfter ? sql`property_id, id` : columns;
  const rows = await transaction<RowOf<C>[]>`${written} returning ${returned}`.catch((error: unknown) => {
    throw takenKey(table, values, error);
  });
  if (!isReadAfter) return rows[0]!;
  const { property_id, id } = rows[0]!;
  const [row] = await transaction<RowOf<C>[]>`
    select ${columns} from ${identifier(table.name)} where property_id = ${property_id} and id = ${id}`;
  return row!;
}

/** The conflict that names the key of another row; any other error as it is. */
function takenKey(table: Table, values: object, error: unknown): unknown {
  const { key, name, noun } = table;
  const columns = key.join("_");
  // A constraint in the table's own definition has PostgreSQL's name for it.
  const constraints = [`${name}_${columns}`, `${name}_property_id_${columns}_key`];
  if (key.length === 0 || !constraints.some((one) => isSqlState(error, "23505", one))) return error;
  const named = key
    .map((column) => `${column} ${JSON.stringify((values as Record<string, unknown>)[column])}`)
    .join(" and ");
  return new Fault("conflict", { message: `A ${words(noun)} with ${named} exists already.`, cause: error });
}

/** The values to store: secrets are sealed for their record, and a new record gets its id for that. */
function sealedValues(
  { config, property }: Context,
  table: Table,
  rowId: string | null,
  values: object,
): Record<string, unknown> {
  const given = present(values);
  const names = sealedColumns(table).filter((name) => given[name] !== undefined && given[name] !== null);
  if (names.length === 0) return given;
  const id = rowId ?? String(given.id ?? randomUUIDv7());
  for (const name of names) {
    const secret = typeof given[name] === "string" ? given[name] : JSON.stringify(given[name]);
    given[name] = seal(config, locationOf(table.name, name, property.id, id), secret);
  }
  return rowId === null ? { ...given, id } : given;
}

function present(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A snake_case name as words. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** The handler of an operation that the reader answers. */
export function unreadable(): never {
  throw new Error("answered by the reader");
}
