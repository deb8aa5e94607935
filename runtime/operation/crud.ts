import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { Page, Reader } from "#db/query/reader.ts";
import { andVisible } from "#db/query/to-sql.ts";
import { identifier } from "#db/sql.ts";
import { type FaultCode, noSuch, one } from "#runtime/faults.ts";
import { type Together, together, type UntilRefused, untilRefused } from "#runtime/together.ts";
import { columnNames, inputOf, readableOf, viewOf } from "./columns.ts";
import type { Context } from "./context.ts";
import { checkUnchanged, isVersioned } from "./etag.ts";
import { listOperation } from "./lists.ts";
import { type Operation, tool } from "./operation.ts";
import type { Property } from "./property.ts";
import { recordWords } from "./record-words.ts";
import { insert, unreadable, update, words } from "./rows.ts";
import { checkedChange } from "./sent-back.ts";
import type { Change, Columns, Row, RowOf, Table, Values, Verb } from "./table.ts";

const id = z.uuid();
const version = z
  .int()
  .optional()
  .describe("The version that you have read: the change is refused when the record is at another one by now");

/** The faults of records that carry an ETag. */
const locking = (table: Table): FaultCode[] => (isVersioned(table) ? ["precondition_failed"] : []);

/** The operations derived from a table, except those with a file of their own. */
export function operationsOf(table: Table): Operation[] {
  const derived = table.verbs.filter((verb) => !table.own.includes(verb));
  return derived.map((verb) => ({ ...BUILDERS[verb](table), core: table.core.includes(verb) }));
}

const BUILDERS: Record<Verb, (table: Table) => Operation> = {
  list: listOperation,
  get: getOperation,
  create: createOperation,
  update: updateOperation,
  delete: deleteOperation,
};

function getOperation(table: Table): Operation {
  const operation = tool({
    name: `get_${table.noun}`,
    title: `Get one ${words(table.noun)}`,
    description: `Returns one ${words(table.noun)} by its id. ${table.description}`,
    scope: "read",
    effect: "read",
    input: { id: id.describe(`From list_${table.name}`) },
    output: viewOf(table),
    faults: ["not_found"],
    crud: { table, verb: "get" },
    handler: unreadable,
  });
  return {
    ...operation,
    read: async (reader: Reader, property: Property, input: { id: string }): Promise<Page> => {
      const body = await reader.get(property.id, readableOf(table), input.id);
      if (body === null) throw noSuch(words(table.noun), input.id);
      return { body, rows: 1 };
    },
  };
}

function createOperation(table: Table): Operation {
  return tool({
    name: `create_${table.noun}`,
    title: `Create a ${words(table.noun)}`,
    description: `Creates one ${words(table.noun)}. ${table.description}`,
    scope: "write",
    effect: table.effects.create ?? "create",
    input: inputOf(table, "create"),
    output: viewOf(table).extend(table.secrets),
    status: 201,
    secrets: Object.keys(table.secrets),
    faults: ["invalid", "conflict", "not_found"],
    crud: { table, verb: "create" },
    ...askingOf(table, "create"),
    ...written(table, "create"),
  });
}

/** A table whose hook takes many changes at once writes the records of an array together. */
function written(table: Table, verb: Writing["verb"]) {
  const rows = (context: Context, inputs: Values[]) =>
    writeRows(
      context,
      table,
      inputs.map((input) => ({ verb, input })),
    );
  return {
    handler: async (context: Context, input: Values) => ({
      ...(await (await rows(context, [input])).finish(0)),
    }),
    ...(table.beforeWrites && { together: rows }),
  };
}

/** A new record, or the changes of a known one with its id. */
export interface Writing {
  verb: "create" | "update";
  input: Values;
}

/** Creates and changes records in their order, none of them twice. */
export async function writeRows(
  context: Context,
  table: Table,
  writings: readonly Writing[],
): Promise<Together<Row>> {
  const ids = writings.flatMap(({ verb, input }) => (verb === "update" ? [String(input.id)] : []));
  const rows = ids.length > 0 ? await lockRows(context, table, ids) : new Map<string, Row>();
  const changes = await untilRefused(writings, (writing) => changeOf(table, rows, writing));
  const values = await valuesOf(context, table, changes.done);
  const checked = await untilRefused(values.done, (one, index) => {
    const change = changes.done[index]!;
    const { current } = change;
    if (current && isVersioned(table)) checkUnchanged(context.call, current, writings[index]!.input.version);
    return { ...change, values: current && changesNothing(change, one) ? null : one };
  });
  const statements = checked.done.map(({ current, values: one }) => {
    if (current === null) return insert(context, table, one!);
    return one === null ? current : update(context, table, current.id, one);
  });
  const refusal = checked.refusal ?? values.refusal ?? changes.refusal;
  return together(statements, refusal, async (row, index) => {
    const { values: changed, ...change } = checked.done[index]!;
    if (changed === null) return row;
    const former = change.current ? changedFields(change.current, row) : undefined;
    const event = table.events[change.verb];
    if (event && (!former || Object.keys(former).length > 0)) context.emit(event, row, former);
    await table.afterWrite?.(context, { ...change, row });
    if (former) context.audit({ diff: former });
    return former ? row : { ...row, ...secretsOf(table, changed) };
  });
}

/** The secrets of a new record, which only its creation answers. */
function secretsOf({ secrets }: Table, values: Values): Values {
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, values[name]]));
}

function changeOf(table: Table, rows: ReadonlyMap<string, Row>, { verb, input }: Writing): Change {
  if (verb === "create") return { verb, input, current: null };
  const { id: rowId, version: _, ...given } = input;
  const current = rows.get(String(rowId).toLowerCase());
  if (!current) throw noSuch(words(table.noun), rowId);
  return { verb, input: checkedChange(table, given, current), current };
}

/** The values to write, until a change is refused. */
function valuesOf(context: Context, table: Table, changes: Change[]): Promise<UntilRefused<Values>> {
  if (table.beforeWrites) return table.beforeWrites(context, changes);
  return untilRefused(changes, (change) => table.beforeWrite?.(context, change) ?? change.input);
}

function updateOperation(table: Table): Operation {
  return tool({
    name: `update_${table.noun}`,
    title: `Change a ${words(table.noun)}`,
    description: `Changes the given fields of one ${words(table.noun)}. ${table.description}`,
    scope: "write",
    effect: table.effects.update ?? "change",
    input: {
      id: id.describe(`From list_${table.name}`),
      ...inputOf(table, "update"),
      ...(isVersioned(table) && { version }),
    },
    output: viewOf(table),
    faults: ["invalid", "conflict", "not_found", ...locking(table)],
    crud: { table, verb: "update" },
    ...askingOf(table, "update"),
    ...written(table, "update"),
  });
}

/**
 * Whether the record has all these values already: then it stays as it is, and nobody hears of it. The next version is
 * not compared, and neither is what follows from the values alone and is answered to nobody.
 */
export function changesNothing(
  { input, current }: Pick<Change, "input" | "current">,
  { version: _, ...values }: Values,
): boolean {
  return Object.entries(values).every(([name, value]) => {
    if (value === undefined) return true;
    return current && name in current ? isDeepStrictEqual(value, current[name]) : !(name in input);
  });
}

function askingOf({ asks, columns, shapesMessages, movesPlayers }: Table, verb: Verb) {
  const isShaped = shapesMessages.includes(verb);
  return {
    sealed: Object.keys(columns).filter((name) => columns[name]!.read !== "answered"),
    asks: asks.includes(verb) || (verb !== "delete" && movesPlayers) || (isShaped && verb === "update"),
    shapesMessages: isShaped,
    movesPlayers,
  };
}

function deleteOperation(table: Table): Operation {
  return tool({
    name: `delete_${table.noun}`,
    title: `Delete a ${words(table.noun)}`,
    description: `Deletes one ${words(table.noun)}. ${table.description}`,
    scope: "write",
    effect: "destroy",
    input: { id: id.describe(`From list_${table.name}`) },
    output: z.object({ success: z.literal(true) }),
    faults: ["conflict", "not_found", ...locking(table)],
    crud: { table, verb: "delete" },
    ...askingOf(table, "delete"),
    handler: async (context, { id: rowId }) => {
      const current = await lockRow(context, table, rowId);
      context.ask?.({ sentences: () => removalOf(context, table, current) });
      const change: Change = { verb: "delete", input: {}, current };
      const values = await table.beforeWrite?.(context, change);
      if (isVersioned(table)) checkUnchanged(context.call, current, undefined);
      if (table.softDelete) await update(context, table, rowId, { ...values, deleted_at: "now" });
      else await remove(context, table, rowId);
      const event = table.events.delete;
      if (event) context.emit(event, current);
      await table.afterWrite?.(context, { ...change, row: current });
      context.audit({ entityId: rowId });
      return { success: true as const };
    },
  });
}

async function removalOf(context: Context, table: Table, row: Row): Promise<string[]> {
  const own = await table.removalWords?.(context, row);
  return own ?? [`This deletes ${recordWords(table, row)}. It cannot be undone.`];
}

/** A row as the reader prints it, locked until the transaction ends. Throws `not_found`. */
export async function lockRow<C extends Columns>(
  context: Context,
  table: Table<C>,
  rowId: string,
): Promise<RowOf<C>> {
  const rows = await lockRows(context, table, [rowId]);
  return one([...rows.values()], words(table.noun), rowId);
}

/** The rows by their ids, without those that are missing, all locked in one order until the transaction ends. */
async function lockRows<C extends Columns>(
  { sql, property }: Context,
  table: Table<C>,
  ids: readonly string[],
): Promise<Map<string, RowOf<C>>> {
  const rows = await sql<{ row: RowOf<C> }[]>`
    select row_to_json(r) as row from (
      select ${columnNames(table)} from ${identifier(table.name)}
      where property_id = ${property.id} and id = any(${[...ids]}::uuid[]) ${andVisible(readableOf(table))}
      order by id for update
    ) r`;
  return new Map(rows.map(({ row }) => [row.id, row]));
}

async function remove({ sql, property }: Context, table: Table, rowId: string): Promise<void> {
  await sql`delete from ${identifier(table.name)} where property_id = ${property.id} and id = ${rowId}`;
}

/** The former values of the fields that differ. */
export function changedFields(before: Row, after: Row): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(before).filter(
      ([name, value]) => name !== "updated_at" && JSON.stringify(value) !== JSON.stringify(after[name]),
    ),
  );
}
