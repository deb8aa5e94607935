import { randomUUIDv7 } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isSqlState } from "#db/connection/error-code.ts";
import { assignments, cte, type Fragment, identifier, insertedValues, raw, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { locationOf, seal } from "#runtime/secrets/sealing.ts";
import { columnNames, sealedColumns } from "./columns.ts";
import type { Context, Insertion } from "./context.ts";
import { ECHOED } from "./input.ts";
import type { Columns, Row, RowOf, Table, Values } from "./table.ts";

/** A new row as a part of the transaction's last statement. `secrets` are shown beside it. */
export function insertion(
  context: Context,
  table: Table,
  values: Record<string, unknown>,
  secrets: object,
): Insertion {
  const id = typeof values.id === "string" ? values.id : randomUUIDv7();
  const row = { ...sealedValues(context, table, null, { ...values, id }), property_id: context.property.id };
  return {
    id,
    parts: [inserted(table, row), answered(table)],
    shown: (body) =>
      Object.keys(secrets).length === 0 ? body : JSON.stringify({ ...JSON.parse(body), ...secrets }),
    explain: (error) => takenKey(table, values, error),
  };
}

function inserted(table: Table, row: Record<string, unknown>): Fragment {
  return cte("inserted", sql`insert into ${identifier(table.name)} ${insertedValues(row)} returning *`);
}

/** The new row's JSON text, as the reader prints it. */
function answered(table: Table): Fragment {
  return cte(
    "answered",
    sql`select row_to_json(v)::text as body from (select ${columnNames(table)} from inserted) v`,
  );
}

/** Inserts a row of a table and answers it as the reader prints it. */
export async function insert<C extends Columns>(
  context: Context,
  table: Table<C>,
  values: object,
): Promise<RowOf<C>> {
  const row = { ...sealedValues(context, table, null, values), property_id: context.property.id };
  return write(context, table, values, "inserted", inserted(table, row));
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
    where property_id = ${context.property.id} and id = ${rowId} returning *`;
  return write(context, table, values, "updated", cte("updated", updated));
}

async function write<C extends Columns>(
  { sql: transaction }: Context,
  table: Table<C>,
  values: object,
  written: "inserted" | "updated",
  part: Fragment,
): Promise<RowOf<C>> {
  const statement = transaction<{ row: RowOf<C> }[]>`
    with ${part} select row_to_json(v) as row from (select ${columnNames(table)} from ${raw(written)}) v`;
  const rows = await statement.catch((error: unknown) => {
    throw takenKey(table, values, error);
  });
  return rows[0]!.row;
}

/** The conflict that names the key of another row; any other error as it is. */
function takenKey(table: Table, values: object, error: unknown): unknown {
  const { key, name, noun } = table;
  const taken = `${name}_${key.join("_")}`;
  if (key.length === 0 || !isSqlState(error, "23505", taken)) return error;
  const named = key
    .map((column) => `${column} ${JSON.stringify((values as Record<string, unknown>)[column])}`)
    .join(" and ");
  return new Fault("conflict", { message: `A ${words(noun)} with ${named} exists already.`, cause: error });
}

/** The values to store: secrets are sealed for their record, and a new record gets its id for that. */
export function sealedValues(
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

/**
 * The part of an update that changes the record. A record may come back whole: equal values of columns that are
 * closed to the caller are left out. Throws `invalid` or `conflict` for other values of them.
 */
export function checkedChange(table: Table, given: Values, current: Row): Values {
  checkEchoed(table, given, current);
  const input = changing(table, given, current);
  checkStates(table, input, current);
  return input;
}

/** Refuses a column that callers do not write, unless its value is the record's own. */
function checkEchoed(table: Table, given: object, current: Row): void {
  const echoed = (given as { [ECHOED]?: Record<string, unknown> })[ECHOED] ?? {};
  const names = Object.keys(echoed).filter((name) => !isDeepStrictEqual(echoed[name], current[name]));
  if (names.length === 0) return;
  if (names.includes("updated_at")) {
    throw new Fault("conflict", {
      message: "updated_at: the record was changed since. Read it again, then decide.",
    });
  }
  const details = names.map((field) => {
    const isSet = table.columns[field]?.write === "create";
    return {
      field,
      message: isSet ? "is set at creation and stays" : "is written by the service; leave it out",
    };
  });
  const message = details.map((one) => `${one.field}: ${one.message}`).join("; ");
  throw new Fault("invalid", { message, details });
}

/** The values without those of columns that the record's state may close and that stay as they are. */
function changing({ columns }: Table, given: Values, current: Row): Values {
  const isChange = ([name, value]: [string, unknown]) =>
    !columns[name]?.while || !isDeepStrictEqual(value, current[name]);
  return Object.fromEntries(Object.entries(given).filter(isChange));
}

/** Refuses a column that may not be written in the record's state. */
function checkStates({ columns, noun }: Table, input: object, { status }: Row): void {
  for (const name of Object.keys(input)) {
    const states = columns[name]?.while;
    if (!states || states.includes(String(status))) continue;
    throw new Fault("conflict", {
      message: `The ${words(noun)} is ${status}; ${name} can be changed while it is ${states.join(" or ")}.`,
    });
  }
}
