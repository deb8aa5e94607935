import { z } from "zod";
import { parseQuery } from "#db/query/parse.ts";
import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Call } from "#runtime/operation/context.ts";
import { foldCasing } from "#runtime/operation/input.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { words } from "#runtime/operation/rows.ts";
import type { Table } from "#runtime/operation/table.ts";
import { resolveProperty } from "./access.ts";
import type { Service } from "./service.ts";

/** Finds the ids of the records of a table whose column has the value: two at the most are of use. */
export type FindIds = (table: Table, column: string, value: string) => Promise<string[]>;

/** An input in which names stand as the ids of their records, and a sentence on each. */
export interface Resolved {
  input: Record<string, unknown>;
  said: string[];
}

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
  const resolved: Resolved = { input: { ...input }, said: [] };
  for (const [field, value] of Object.entries(input)) {
    const table = tableOf(operation, field, known);
    if (!table) continue;
    const one = async (name: unknown) => {
      if (typeof name !== "string" || name.trim() === "" || isUuid(name.trim())) return name;
      const id = await idOf(table, field, name.trim(), find);
      resolved.said.push(`${field}: the ${words(table.noun)} ${JSON.stringify(name.trim())} is ${id}.`);
      return id;
    };
    resolved.input[field] = Array.isArray(value) ? await Promise.all(value.map(one)) : await one(value);
  }
  return resolved;
}

/** The same for a call in its property. */
export function namesIn(
  { directory, reader }: Pick<Service, "directory" | "reader">,
  tables: Iterable<Table>,
  operation: Operation,
  call: Call,
  input: Record<string, unknown>,
): Promise<Resolved> {
  const folded = foldCasing(operation, input);
  return resolveNames(operation, tables, folded, async (table, column, value) => {
    const property = await resolveProperty(directory, operation, call, [folded]);
    const readable = readableOf(table);
    const query = parseQuery(readable, [
      [`${column}.eq`, value],
      ["select", "id"],
      ["limit", "2"],
    ]);
    const { body } = await reader.list(property.id, readable, query);
    return (JSON.parse(body) as { id: string }[]).map(({ id }) => id);
  });
}

/** The table whose record a field names by its id. */
function tableOf({ input, crud }: Operation, field: string, tables: Table[]): Table | undefined {
  const schema: z.ZodType | undefined = Object.hasOwn(input.shape, field) ? input.shape[field] : undefined;
  if (!schema || !takesIds(schema)) return undefined;
  if (field === "id") return tables.find((table) => table === crud?.table);
  const snake = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return tables.find(({ noun }) => new RegExp(`(^|_)${noun}_ids?$`).test(snake));
}

function takesIds(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return takesIds(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodArray) return takesIds(schema.element as z.ZodType);
  return schema instanceof z.ZodUUID;
}

async function idOf(table: Table, field: string, name: string, find: FindIds): Promise<string> {
  const { called, noun } = table;
  const ids = await find(table, called!, name);
  if (ids.length === 1) return ids[0]!;
  const about = `${words(noun)} with the ${called} ${JSON.stringify(name)}`;
  const message =
    ids.length === 0
      ? `no ${about} in this property; give its id, from list_${table.name}`
      : `there is more than one ${about}; give the id, such as ${ids.join(" or ")}`;
  throw new Fault(ids.length === 0 ? "not_found" : "conflict", {
    message: `${field}: ${message}`,
    details: [{ field, message }],
  });
}
