import { z } from "zod";
import { parseQuery } from "#db/query/parse.ts";
import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import { columnsOf, readableOf } from "#runtime/operation/columns.ts";
import type { Call } from "#runtime/operation/context.ts";
import { bare, elementOf, fieldOf, isFree } from "#runtime/operation/field-kind.ts";
import { foldCasing } from "#runtime/operation/input.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { RECORDS } from "#runtime/operation/record-words.ts";
import { words } from "#runtime/operation/rows.ts";
import type { Table } from "#runtime/operation/table.ts";
import { checkReads, resolveProperty } from "./access.ts";
import type { Service } from "./service.ts";

/** Finds the ids of the records of a table whose column has the value: two at the most are of use. */
export type FindIds = (table: Table, column: string, value: string, isDeleted: boolean) => Promise<string[]>;

/** An input with ids in place of records' names, and a sentence about each. */
export interface Resolved {
  input: Record<string, unknown>;
  said: string[];
}

/** Sentences on names. A call can name thousands of players. */
const MOST_SAID = 10;

/**
 * Puts ids in the place of names, where the input names a record in another way: a player by the operator's own
 * number, others by a name that one record has. Throws `not_found`, and `conflict` where several have the name.
 */
export async function resolveNames(
  operation: Operation,
  tables: Iterable<Table>,
  input: Record<string, unknown>,
  find: FindIds,
): Promise<Resolved> {
  const known = [...tables].filter(({ called }) => called !== undefined);
  const said: string[] = [];
  const one = async ({ table, isDeleted }: Named, path: string, name: unknown) => {
    if (!isName(name)) return name;
    const id = await idOf({ table, isDeleted }, path, name.trim(), find);
    said.push(`${path}: the ${words(table.noun)} ${JSON.stringify(name.trim())} is ${id}.`);
    return id;
  };
  const walk = async (value: unknown, schemas: readonly z.ZodType[], path: string): Promise<unknown> => {
    if (Array.isArray(value)) {
      const elements = schemas.flatMap(elementOf);
      return Promise.all(value.map((item, index) => walk(item, elements, `${path}.${index}`)));
    }
    // Free data, such as an event's properties, name no records.
    if (!isObject(value) || (path !== "filters" && schemas.some(isFree))) return value;
    const found: Record<string, unknown> = { ...value };
    const [rule, noun, name, rest = ""] = ruleOf(value);
    const table = known.find((one) => one.noun === noun);
    if (rule && table) {
      const where = path === "" ? "field" : `${path}.field`;
      found.field = `${noun}.${await one({ table, isDeleted: false }, where, name)}${rest}`;
    }
    for (const [field, inner] of Object.entries(found)) {
      if (!mayHoldNames(inner)) continue;
      const where = path === "" ? field : `${path}.${field}`;
      const filter = path === "filters" ? filteredBy(operation, field, inner) : undefined;
      const own = filter ? [filter.schema] : schemas.flatMap((schema) => fieldOf(schema, field));
      const named = own.some(takesIds) ? namedBy(operation, filter?.column ?? where, known, own) : undefined;
      if (!named) found[field] = await walk(inner, own, where);
      else if (Array.isArray(inner))
        found[field] = await Promise.all(inner.map((name) => one(named, where, name)));
      else found[field] = await one(named, where, inner);
    }
    return found;
  };
  const resolved = (await walk(input, [operation.input], "")) as Record<string, unknown>;
  const more = said.length - MOST_SAID;
  const unsaid = more > 0 ? [`${more} more were found by their names.`] : [];
  return { input: resolved, said: [...said.slice(0, MOST_SAID), ...unsaid] };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The parts of a rule's field about a record, such as `campaign.<id>.clicked`. */
function ruleOf({ field, operator }: Record<string, unknown>): readonly string[] {
  const isRule = typeof field === "string" && typeof operator === "string";
  return (isRule && /^(\w+)\.(.+?)(\.[a-z_]+)?$/s.exec(field)) || [];
}

/** Whether a value may stand for a record in another way than by its id. */
const isName = (value: unknown): value is string =>
  typeof value === "string" && value.trim() !== "" && !isUuid(value.trim());

const mayHoldNames = (value: unknown) => isName(value) || (typeof value === "object" && value !== null);

/** The same for a call in its property. */
export function namesIn(
  { directory, reader }: Pick<Service, "directory" | "reader">,
  tables: Iterable<Table>,
  operation: Operation,
  call: Call,
  input: Record<string, unknown>,
): Promise<Resolved> {
  const folded = foldCasing(operation, input);
  return resolveNames(operation, tables, folded, async (table, column, value, isDeleted) => {
    const property = await resolveProperty(directory, operation, call, [folded]);
    checkReads(call.actor, property.id);
    const readable = {
      ...readableOf(table),
      ...(isDeleted && { visible: "deleted_at is not null" }),
    };
    const query = parseQuery(readable, [
      [`${column}.eq`, value],
      ["select", "id"],
      ["limit", "2"],
    ]);
    const { body } = await reader.list(property.id, readable, query);
    return (JSON.parse(body) as { id: string }[]).map(({ id }) => id);
  });
}

/** The table of a record that a field names, which may be a deleted one. */
interface Named {
  table: Table;
  isDeleted: boolean;
}

/** The record that a field of this path names by its id. */
function namedBy(
  operation: Operation,
  path: string,
  tables: Table[],
  schemas: readonly z.ZodType[],
): Named | undefined {
  const record = schemas.map((schema) => RECORDS.get(bare(schema))).find((one) => one !== undefined);
  const table = tableOf(operation, path, tables, record?.noun);
  return table && { table, isDeleted: record?.deleted === true };
}

function tableOf(
  { crud }: Operation,
  path: string,
  tables: Table[],
  named: string | undefined,
): Table | undefined {
  if (path === "id") return tables.find((table) => table === crud?.table);
  if (named !== undefined) return tables.find(({ noun }) => noun === named);
  const snake = path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const field = `_${snake.replaceAll(".", "_").replace(/s$/, "")}`;
  return tables.find(({ noun }) => field.endsWith(`_${noun}_id`));
}

/** The column whose whole values a list's filter names. A text for `in` is a list in the query's own notation. */
function filteredBy(
  { crud }: Operation,
  filter: string,
  value: unknown,
): { column: string; schema: z.ZodType } | undefined {
  if (crud?.verb !== "list" || (filter.endsWith(".in") && !Array.isArray(value))) return undefined;
  const [, column = ""] = /^(\w+)\.(?:not\.)?(?:eq|neq|in)$/.exec(filter) ?? [];
  const columns = columnsOf(crud.table);
  return Object.hasOwn(columns, column) ? { column, schema: columns[column]!.schema } : undefined;
}

function takesIds(schema: z.ZodType): boolean {
  const inner = bare(schema);
  return inner instanceof z.ZodUUID || elementOf(inner).some(takesIds);
}

async function idOf(
  { table, isDeleted }: Named,
  field: string,
  name: string,
  find: FindIds,
): Promise<string> {
  const { called, noun } = table;
  const ids = await find(table, called!, name, isDeleted);
  if (ids.length === 1) return ids[0]!;
  const about = `${isDeleted ? "deleted " : ""}${words(noun)} with the ${called} ${JSON.stringify(name)}`;
  const message =
    ids.length === 0
      ? `no ${about} in this property; give its id, from ${isDeleted ? "list_audit_logs" : `list_${table.name}`}`
      : `there is more than one ${about}; give the id, such as ${ids.join(" or ")}`;
  throw new Fault(ids.length === 0 ? "not_found" : "conflict", {
    message: `${field}: ${message}`,
    details: [{ field, message }],
  });
}
