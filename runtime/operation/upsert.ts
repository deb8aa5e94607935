import { z } from "zod";
import { andVisible } from "#db/query/to-sql.ts";
import { identifier, join, raw } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Together, untilRefused } from "#runtime/together.ts";
import { readableOf } from "./columns.ts";
import type { Context } from "./context.ts";
import { type Writing, writeRows } from "./crud.ts";
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

interface Upserting {
  create: Operation;
  update: Operation;
  merging: Merging;
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
  const written = (context: Context, rows: Values[]) =>
    upsertRows(context, rows, { create, update, merging });
  const operation = tool({
    ...create,
    merges: merging.ignore ? "new" : "all",
    property: null,
    input: {},
    output: z.unknown(),
    status: 200,
    handler: (context: Context, row: Values) => written(context, [row]).finish(0),
    together: async (context: Context, rows: Values[]) => written(context, rows),
  });
  const { afterwards } = update;
  return { ...operation, input: z.looseObject({}), ...(afterwards && { afterwards }) };
}

function keysOf(table: Table): (readonly string[])[] {
  return [["id"], ...(table.key.length > 0 ? [table.key.toSorted()] : [])];
}

/** Rows in runs, each written behind the one before: no run has a record twice. */
function upsertRows(context: Context, rows: Values[], upserting: Upserting): Together {
  const { table } = upserting.create.crud!;
  const names = rows.map((row) => namesIn(table, row));
  let run: Run = { to: 0, finish: async () => null };
  return {
    finish: async (index) => {
      if (index === run.to) {
        const to = areTogether(upserting) ? firstRepeated(names, index) : index + 1;
        run = await writtenRun(context, rows.slice(index, to), index, upserting);
      }
      return run.finish(index);
    },
  };
}

/** The names by which a row may mean a record. */
function namesIn(table: Table, row: Values): string[] {
  return keysOf(table).flatMap((key) => {
    const values = key.map((name) => parsed(table, row, name).data);
    return values.some((value) => value === undefined || value === null) ? [] : [nameOf(key, values)];
  });
}

const nameOf = (key: readonly string[], values: readonly unknown[]) =>
  `${key.join()} ${JSON.stringify(values.map(String))}`;

/** The index of the first list from `from` on that shares an item with an earlier one of them. */
function firstRepeated(lists: readonly (readonly string[])[], from: number): number {
  const seen = new Set<string>();
  for (let index = from; index < lists.length; index += 1) {
    const list = lists[index]!;
    if (list.some((item) => seen.has(item))) return index;
    for (const item of list) seen.add(item);
  }
  return lists.length;
}

/** Rows of a request from an index on, up to the next run or to a refused row. */
interface Run extends Pick<Together, "finish"> {
  to: number;
}

async function writtenRun(
  context: Context,
  rows: Values[],
  from: number,
  upserting: Upserting,
): Promise<Run> {
  const { merging } = upserting;
  const { table } = upserting.create.crud!;
  const keys = await untilRefused(rows, (row) => keyOf(table, row, merging.on));
  const found = await foundIds(context, table, keys.done);
  const known = await untilRefused(keys.done, (key) => idOf(key, found));
  const apart = firstRepeated(
    known.done.map((id) => (id === null ? [] : [id])),
    0,
  );
  const inputs = await untilRefused(known.done.slice(0, apart), (id, index) => {
    if (id !== null && merging.ignore) return null;
    const verb = id === null ? "create" : "update";
    const operation = upserting[verb];
    const { id: _, ...values } = rows[index]!;
    const row = id === null ? values : { ...values, id };
    return { verb, operation, input: parseInput(operation, foldCasing(operation, row)) } as const;
  });
  const isCut = apart < known.done.length;
  const refusal = inputs.refusal ?? (isCut ? undefined : (known.refusal ?? keys.refusal));
  const finish = await writtenBy(context, upserting, inputs.done);
  const to = inputs.done.length;
  return {
    to: from + to + (refusal ? 1 : 0),
    finish: async (index) => {
      if (index - from === to) throw refusal;
      return finish(index - from);
    },
  };
}

/** Whether the table's own operations write the records of an array together. */
const areTogether = ({ create, update }: Upserting) => Boolean(create.together && update.together);

/** Rows with the operations that write them; null for one that stays as it is. */
type Chosen = ((Writing & { operation: Operation }) | null)[];

async function writtenBy(
  context: Context,
  upserting: Upserting,
  chosen: Chosen,
): Promise<Together["finish"]> {
  const writings = chosen.filter((one) => one !== null);
  const { table } = upserting.create.crud!;
  const rows = areTogether(upserting) ? await writeRows(context, table, writings) : null;
  let next = 0;
  return async (index) => {
    const one = chosen[index];
    if (!one) return null;
    context.audit({ action: one.operation.name });
    return rows ? rows.finish(next++) : one.operation.handler(context, one.input);
  };
}

interface Key {
  columns: readonly string[];
  values: string[];
}

/** The key of a row. Null: it is a new one, as NULL is equal to nothing. */
function keyOf(table: Table, row: Values, on: Merging["on"]): Key | null {
  const columns = on ?? (row.id !== undefined ? ["id"] : table.key);
  const values = columns.map((name) => {
    const { data, error } = parsed(table, row, name);
    if (data !== undefined && data !== null) return String(data);
    if (row[name] === undefined || row[name] === null) return null;
    throw invalid(name, error?.issues[0]?.message ?? "is not valid");
  });
  const given = values.filter((value) => value !== null);
  return columns.length === 0 || given.length < columns.length ? null : { columns, values: given };
}

function parsed(table: Table, row: Values, name: string): z.ZodSafeParseResult<unknown> {
  const schema = name === "id" ? z.uuid().toLowerCase() : table.columns[name]!.schema;
  return schema.safeParse(row[name]);
}

/** The ids of the rows with the keys, by `nameOf`. The keys are locked against other upserts of them. */
async function foundIds(
  { sql, property }: Context,
  table: Table,
  keys: readonly (Key | null)[],
): Promise<Map<string, string>> {
  const given = keys.filter((key) => key !== null);
  if (given.length === 0) return new Map();
  const locks = given.map(
    ({ columns, values }) => `${table.name} ${property.id} ${columns.join()} ${JSON.stringify(values)}`,
  );
  await sql`
    select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest(${locks.toSorted()}::text[]) as name`;
  const found = new Map<string, string>();
  for (const columns of new Map(given.map((key) => [key.columns.join(), key.columns])).values()) {
    const same = given.filter((key) => key.columns.join() === columns.join());
    const conditions = columns.map((name, index) => {
      const type = raw(name === "id" ? "uuid[]" : "text[]");
      return sql`${identifier(name)} = any(${same.map(({ values }) => values[index])}::${type})`;
    });
    const rows = await sql<({ found_id: string } & Values)[]>`
      select id as found_id, ${join(columns.map(identifier))} from ${identifier(table.name)}
      where property_id = ${property.id} and ${join(conditions, " and ")} ${andVisible(readableOf(table))}`;
    for (const { found_id: id, ...row } of rows) {
      const values = columns.map((name) => row[name]);
      found.set(nameOf(columns, values), id);
    }
  }
  return found;
}

function idOf(key: Key | null, found: ReadonlyMap<string, string>): string | null {
  const id = key && found.get(nameOf(key.columns, key.values));
  if (id || key?.columns[0] !== "id") return id ?? null;
  throw new Fault("not_found", {
    message: `No record with the id ${key.values[0]} in this property. Leave the id out for a new record.`,
  });
}
