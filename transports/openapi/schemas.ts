import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { isMaskedField } from "#runtime/masking/values.ts";
import { type Catalog, withDeprecations } from "#runtime/operation/catalog.ts";
import { viewOf } from "#runtime/operation/columns.ts";
import type { Table } from "#runtime/operation/table.ts";

export type Json = Record<string, unknown>;

/** The schemas that several endpoints share, by name. */
export type Schemas = Map<string, Json>;

export function referenceTo(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

export function recordSchemas(catalog: Catalog, schemas: Schemas): Json {
  return Object.fromEntries(
    [...catalog.tables.values()].map((table) => {
      const own = [...catalog.operations.values()].filter(({ crud }) => crud?.table === table);
      const deprecations = own.flatMap((operation) => operation.deprecations);
      const { shape } = withDeprecations(viewOf(table), deprecations, "output");
      const columns = Object.entries(shape).map(([name, schema]) => [
        name,
        withMaskedForms(jsonSchema(schema as z.ZodType, "output", schemas), name),
      ]);
      const required = columns.map(([name]) => name);
      const schema = {
        type: "object",
        description: table.description,
        properties: Object.fromEntries(columns),
        required,
      };
      return [schemaName(table), schema];
    }),
  );
}

/** Whole records within the schemas of paths become references, so that a client has one type for each. */
export function withReferences(paths: Json, records: Json): Json {
  const columnsOf = ({ properties }: Json) =>
    Object.keys(properties as Json)
      .toSorted()
      .join();
  const named = new Map(Object.entries(records).map(([name, one]) => [columnsOf(one as Json), name]));
  return JSON.parse(JSON.stringify(paths), (_, value) => {
    if (value?.type !== "object" || !value.properties) return value;
    const name = named.get(columnsOf(value));
    if (!name || !isDeepStrictEqual(value.properties, (records[name] as Json).properties)) return value;
    return { ...referenceTo(name), ...(value.description && { description: value.description }) };
  });
}

export function schemaName(table: Table): string {
  return table.noun.replace(/(^|_)([a-z])/g, (_, _gap, letter: string) => letter.toUpperCase());
}

/** A zod schema as JSON Schema 2020-12, as OpenAPI 3.1 has it. A recursive part goes to the components. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output", schemas: Schemas): Json {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, { io, unrepresentable: "any", reused: "inline" });
  const text = JSON.stringify(whole).replaceAll(/"#\/\$defs\/(\w+)"/g, (_, name) =>
    JSON.stringify(`#/components/schemas/${named(name, io)}`),
  );
  const parsed = JSON.parse(text) as Json & { $defs?: Record<string, Json> };
  const { $defs = {}, ...json } = io === "input" ? withoutDefaults(parsed) : withMaskedForms(parsed);
  for (const [name, { id: _id, ...definition }] of Object.entries($defs)) {
    schemas.set(named(name, io), definition);
  }
  return json;
}

/** Of answers: a masked address, birth date or IP address has no longer the form of a whole one. */
function withMaskedForms<T extends Json>(schema: T, name = ""): T {
  const isMasked = schema.format === "email" || isMaskedField(name);
  const { format: _format, pattern: _pattern, ...loose } = schema;
  const inner = Object.entries(isMasked ? loose : schema).map(([key, value]) => {
    if (key === "properties" || key === "$defs") {
      const parts = Object.entries(value as Record<string, Json>);
      return [key, Object.fromEntries(parts.map(([part, one]) => [part, withMaskedForms(one, part)]))];
    }
    if (Array.isArray(value) && Object.hasOwn(SCHEMAS, key)) {
      return [key, value.map((one: Json) => withMaskedForms(one, name))];
    }
    const isSchema = Object.hasOwn(SCHEMAS, key) && typeof value === "object" && value !== null;
    return [key, isSchema ? withMaskedForms(value as Json, name) : value];
  });
  return Object.fromEntries(inner) as T;
}

/** The schema with its defaults in its descriptions: makers of types take a field with a default for a required one. */
function withoutDefaults<T extends Json>({ default: value, ...schema }: T): T {
  const inner = Object.entries(schema).map(([key, one]) => [key, SCHEMAS[key]?.(one) ?? one]);
  const words = [schema.description, value !== undefined && `Default: ${JSON.stringify(value)}`];
  const description = words.filter(Boolean).join(". ").replaceAll("..", ".");
  return { ...Object.fromEntries(inner), ...(value !== undefined && { description }) };
}

const each = (value: unknown) =>
  Object.fromEntries(
    Object.entries(value as Record<string, Json>).map(([name, one]) => [name, withoutDefaults(one)]),
  );
const all = (value: unknown) => (value as Json[]).map(withoutDefaults);
const one = (value: unknown) => (typeof value === "object" ? withoutDefaults(value as Json) : value);

/** The keywords of a schema that hold other schemas. */
const SCHEMAS: Readonly<Record<string, (value: unknown) => unknown>> = {
  ...{ properties: each, $defs: each, anyOf: all, oneOf: all, allOf: all },
  ...{ items: one, additionalProperties: one },
};

/** Inputs have a name of their own: a field with a default is optional in an input and always in an output. */
function named(name: string, io: "input" | "output"): string {
  return io === "input" ? `${name}Input` : name;
}
