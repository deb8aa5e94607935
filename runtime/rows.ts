import { randomUUIDv7 } from "node:crypto";
import type { Sql } from "#db/client.ts";
import { isSqlState } from "#db/error-code.ts";
import { atOnce, type Part } from "#db/statement.ts";
import { columnNames, sealedColumns } from "./columns.ts";
import type { Context, Insertion } from "./context.ts";
import { Fault } from "./faults.ts";
import type { Row, Table } from "./operation.ts";
import { placeOf, seal } from "./sealing.ts";

/** A new row as a part of the transaction's last statement. `secrets` are shown beside it. */
export function insertion(
  context: Context,
  table: Table,
  values: Record<string, unknown>,
  secrets: object,
): Insertion {
  const id = typeof values.id === "string" ? values.id : randomUUIDv7();
  const row = { ...sealedValues(context, table, null, { ...values, id }), property_id: context.property.id };
  const clear = table.lookup?.clear(context, values);
  return {
    id,
    parts: [insertPart(table, row, clear), { text: answerText(table), values: {} }],
    shown: (body) =>
      Object.keys(secrets).length === 0 ? body : JSON.stringify({ ...JSON.parse(body), ...secrets }),
    explain: (error) => takenKey(table, values, error),
    isMore: (error) => clear !== undefined && isWithoutId(table, error),
  };
}

/** Without an id, which undoes the transaction, unless the lookup is clear. */
function insertPart(table: Table, row: Record<string, unknown>, clear: Part | undefined): Part {
  const names = Object.keys(row);
  const places = names.map((name) =>
    clear && name === "id" ? `case when ${clear.text} then $row_id::uuid end` : `$row_${name}`,
  );
  const columns = names.map((name) => `"${name}"`).join(", ");
  return {
    text: `inserted as (insert into ${table.name} (${columns}) values (${places.join(", ")}) returning *)`,
    values: { ...rowValues(row), ...clear?.values },
  };
}

function answerText(table: Table): string {
  return `answered as (
    select row_to_json(v)::text as body from (select ${columnNames(table)} from inserted) v)`;
}

/** Inserts a row of a table and answers it as the reader prints it. */
export async function insert(context: Context, table: Table, values: object): Promise<Row> {
  const row = { ...sealedValues(context, table, null, values), property_id: context.property.id };
  return write(context, table, values, "inserted", insertPart(table, row, undefined));
}

/** Updates a row of a table and answers it as the reader prints it. */
export async function update(context: Context, table: Table, rowId: string, values: object): Promise<Row> {
  const row = { ...sealedValues(context, table, rowId, values), updated_at: "now" };
  const changes = Object.keys(row).map((name) => `"${name}" = $row_${name}`);
  return write(context, table, values, "updated", {
    text: `updated as (
      update ${table.name} set ${changes.join(", ")} where property_id = $property and id = $the_id returning *)`,
    values: { ...rowValues(row), property: context.property.id, the_id: rowId },
  });
}

async function write(
  { sql }: Context,
  table: Table,
  values: object,
  written: "inserted" | "updated",
  part: Part,
): Promise<Row> {
  const row = `row_to_json(v) as row from (select ${columnNames(table)} from ${written}) v`;
  const rows = await atOnce<{ row: Row }>(sql, [part], row).catch((error: unknown) => {
    throw takenKey(table, values, error);
  });
  return rows[0]!.row;
}

function rowValues(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [`row_${name}`, value]));
}

function isWithoutId(table: Table, error: unknown): boolean {
  return isSqlState(error, "23502", { table_name: table.name, column_name: "id" });
}

/** The refusal of a key that another row has, which names it; any other error as it is. */
function takenKey(table: Table, values: object, error: unknown): unknown {
  const { key, name, noun } = table;
  const taken = { constraint_name: `${name}_${key.join("_")}` };
  if (key.length === 0 || !isSqlState(error, "23505", taken)) return error;
  const named = key
    .map((column) => `${column} ${JSON.stringify((values as Record<string, unknown>)[column])}`)
    .join(" and ");
  return new Fault("conflict", { message: `A ${words(noun)} with ${named} exists already.`, cause: error });
}

/** The values to store: secrets are sealed for the record that they belong to, and a new one gets its id for it. */
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
    given[name] = seal(config, placeOf(table.name, name, property.id, id), secret);
  }
  return rowId === null ? { ...given, id } : given;
}

function present(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** The columns as the reader prints them. */
export function printed(sql: Sql, table: Table) {
  return sql.unsafe(columnNames(table));
}

/** A name of ours as words. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}
