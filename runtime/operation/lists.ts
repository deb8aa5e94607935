import { z } from "zod";
import { type Condition, conditionsOf, type Filter } from "#db/query/conditions.ts";
import { type Filters, filterPairs } from "#db/query/filter-pairs.ts";
import { nothingHas } from "#db/query/known-values.ts";
import { OPERATORS, readArray } from "#db/query/operands.ts";
import { parseQuery, type Query } from "#db/query/parse.ts";
import { type Form, QueryError } from "#db/query/readable-table.ts";
import type { Count, Page, Reader } from "#db/query/reader.ts";
import { quote } from "#db/query/values.ts";
import { readableOf, viewOf } from "./columns.ts";
import { type Operation, tool } from "./operation.ts";
import type { Property } from "./property.ts";
import { unreadable, words } from "./rows.ts";
import type { DefinedKeys, Row, Table, Tenants } from "./table.ts";

const COUNTS = ["exact", "planned", "estimated"] as const satisfies readonly Count[];

const FORM = 'must be by column and operator, such as {"tier.in": ["Gold"]}';

const one = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const filters = z
  .record(z.string(), z.union([one, z.array(one)], { error: FORM }), { error: FORM })
  .describe(
    'By column and operator (eq neq gt gte lt lte like ilike in is ov): {"tier.in": ["Gold"], "email.ilike": "%@example.com"}.',
  );

/** The operation that lists a table. */
export function listOperation(table: Table): Operation {
  const operation = tool({
    name: `list_${table.name}`,
    title: `List ${words(table.name)}`,
    description: `Lists ${words(table.name)}. ${table.description} Filter, order and page with the arguments.`,
    scope: "read",
    effect: "read",
    input: {
      filters: filters.optional(),
      select: z.string().optional().describe("Columns to return, separated by commas. Default: all."),
      order: z.string().optional().describe('Such as "created_at.desc" or "last_name.asc,id".'),
      limit: z.union([z.int(), z.string()]).optional().describe("0 to 1000. Default 50."),
      offset: z.union([z.int(), z.string()]).optional().describe("Rows to pass over. Default 0."),
      cursor: z.string().optional().describe("Empty for the first page, then the last answer's next_cursor."),
      count: z
        .union([z.boolean(), z.enum(COUNTS)])
        .optional()
        .describe("Also count all matches: true exactly, estimated faster."),
    },
    output: z.array(viewOf(table)),
    faults: ["invalid"],
    crud: { table, verb: "list" },
    handler: unreadable,
  });
  return {
    ...operation,
    read: async (reader: Reader, property: Property, input: ListInput, db: Tenants): Promise<Page> => {
      const { count, filters: where = {}, ...options } = input;
      const pairs = filterPairs(readableOf(table), where);
      const asked = Object.entries(options).map(([key, value]): [string, string] => [key, String(value)]);
      const counting = typeof count === "string" ? count : count ? "exact" : undefined;
      return readList({ table, reader, property, db }, [...pairs, ...asked], counting);
    },
  };
}

const QUERY = z.strictObject({
  query: z.array(z.tuple([z.string(), z.string()])),
  count: z.enum(COUNTS).optional(),
});

/** The same list by an address's query, in which filters stand beside options and a key may stand twice. */
export function listByQuery(operation: Operation): Operation {
  const { table } = operation.crud!;
  return {
    ...operation,
    input: QUERY,
    read: async (reader: Reader, property: Property, input: z.output<typeof QUERY>, db: Tenants) =>
      readList({ table, reader, property, db }, input.query, input.count),
  };
}

interface Listing {
  table: Table;
  reader: Reader;
  property: Property;
  db: Tenants;
}

async function readList(
  { table, reader, property, db }: Listing,
  pairs: [string, string][],
  count: Count | undefined,
): Promise<Page> {
  const stored = readableOf(table);
  const query = parseQuery(stored, pairs, property.default_country);
  const readable = (await table.computed?.(db, property, query, stored)) ?? stored;
  if (table.definedKeys) {
    query.where = await byKnownKeys(table, query.where, keysByReader(reader, property.id));
  }
  const page = await reader.list(property.id, readable, query, { count });
  if (page.rows > 0) return page;
  const warnings = await whyEmpty(table, reader, property.id, query);
  return warnings.length > 0 ? { ...page, warnings } : page;
}

interface ListInput extends Partial<Record<"select" | "order" | "cursor", string>> {
  filters?: Filters;
  count?: boolean | Count;
  limit?: number | string;
  offset?: number | string;
}

/** Operators by which a filter names whole values. */
const NAMING: ReadonlySet<string> = new Set(["eq", "in", "cs", "ov"]);

/** Sentences on an empty list: the values of its filters that no row has, and the values that there are. */
async function whyEmpty(
  table: Table,
  reader: Reader,
  propertyId: string,
  { where }: Query,
): Promise<string[]> {
  const readable = readableOf(table);
  const asked = where.flatMap(conditionsOf).filter((one) => isNaming(table, one));
  const said = asked.map(async ({ column, value }) => {
    const known = await reader.values(propertyId, readable, column);
    const missing = [value].flat().filter((one) => !known.values.includes(one));
    return missing.map((one) => nothingHas(column, one, known));
  });
  return [...new Set((await Promise.all(said)).flat())];
}

function isNaming({ columns }: Table, { column, operator, not }: Condition): boolean {
  return columns[column]?.vocabulary === true && NAMING.has(operator) && !not;
}

/**
 * The filters, with the values of defined keys as they are stored. Refuses an undefined key: it is null in every row, and
 * would match none or all of them. So would a value that the key cannot have. The definitions are read only for such a
 * filter. Throws QueryError, naming its parameter.
 */
export async function byKnownKeys(
  { definedKeys }: Table,
  where: Filter[],
  read: (definedKeys: DefinedKeys) => Promise<Row[]>,
): Promise<Filter[]> {
  if (!definedKeys || !where.flatMap(conditionsOf).some((one) => isByKey(one, definedKeys))) return where;
  const rows = await read(definedKeys);
  const known = new Map(rows.map((row) => [String(row[definedKeys.key]), row]));
  const fitted = (filter: Filter): Filter => {
    if ("logic" in filter) return { ...filter, filters: filter.filters.map(fitted) };
    if (!isByKey(filter, definedKeys)) return filter;
    const definition = known.get(filter.path[0]!);
    if (!definition) throw new QueryError(filter.field, definedKeys.unknown(filter.path[0]!, rows));
    if (filter.path.length > 1) return filter;
    if (definedKeys.isList(definition)) return ofList(filter);
    if (filter.type === "text[]") throw misfit(filter, OPERATORS.text);
    const form = definedKeys.form(definition);
    return form ? inForm(filter, form) : filter;
  };
  return where.map(fitted);
}

/** Operators that compare whole values. */
const COMPARING: ReadonlySet<string> = new Set(["eq", "neq", "in", "gt", "gte", "lt", "lte"]);

function inForm(condition: Condition, form: Form): Condition {
  // JSON has no such form: its numbers compare by their size.
  if (!COMPARING.has(condition.operator) || condition.type !== "text") return condition;
  const inStored = (text: string) => {
    const stored = form.fit(text, "");
    if (stored === null) throw new QueryError(condition.field, `${quote(text)} is not ${form.wants}`);
    return stored;
  };
  const { value } = condition;
  return { ...condition, value: Array.isArray(value) ? value.map(inStored) : inStored(value) };
}

/** A condition on a list of texts; what is JSON is compared as JSON. */
function ofList(condition: Condition): Condition {
  const { field, operator, type, value } = condition;
  if (operator === "is") return condition;
  if (!OPERATORS["text[]"].includes(operator)) throw misfit(condition, OPERATORS["text[]"]);
  if (type === "jsonb") return condition;
  return typeof value === "string"
    ? { ...condition, type: "text[]", value: readArray({ field }, "text", value) }
    : condition;
}

function misfit({ field, operator, column, path }: Condition, fitting: readonly string[]): QueryError {
  return new QueryError(
    field,
    `${operator} does not fit ${[column, ...path].join(".")}, which takes ${fitting.join(", ")}`,
  );
}

function isByKey({ column, path }: Condition, definedKeys: DefinedKeys): boolean {
  return column === definedKeys.column && path.length > 0;
}

/** The look-up of `byKnownKeys` outside a transaction. */
function keysByReader(reader: Reader, property: string) {
  return async ({ definitions, key }: DefinedKeys): Promise<Row[]> => {
    const readable = readableOf(definitions);
    const query = parseQuery(readable, [
      ["order", key],
      ["limit", "1000"],
    ]);
    return JSON.parse((await reader.list(property, readable, query)).body) as Row[];
  };
}
