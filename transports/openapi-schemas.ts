import { z } from "zod";
import type { Catalog } from "#runtime/catalog.ts";
import { columnsOf } from "#runtime/columns.ts";
import type { Table } from "#runtime/operation.ts";
import { withDeprecations } from "./mcp-tools.ts";

export type Json = Record<string, unknown>;

/** What several places refer to, by name. */
export type Schemas = Map<string, Json>;

export function referenceTo(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

export function recordSchemas(catalog: Catalog, schemas: Schemas): Json {
  return Object.fromEntries(
    [...catalog.tables.values()].map((table) => {
      const columns = Object.entries(columnsOf(table)).map(([name, { schema }]) => [
        name,
        jsonSchema(schema, "output", schemas),
      ]);
      const required = columns.map(([name]) => name);
      const schema = {
        type: "object",
        description: table.description,
        properties: Object.fromEntries(columns),
        required,
      };
      const deprecations = catalog.deprecations.filter(
        ({ operation }) => catalog.operations.get(operation)?.crud?.table === table,
      );
      return [schemaName(table), withDeprecations(schema, deprecations, "output")];
    }),
  );
}

export function schemaName(table: Table): string {
  return table.noun.replace(/(^|_)([a-z])/g, (_, _gap, letter: string) => letter.toUpperCase());
}

/** A zod schema as JSON Schema 2020-12, which OpenAPI 3.1 is. What refers to itself goes to the components. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output", schemas: Schemas): Json {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, { io, unrepresentable: "any", reused: "inline" });
  const text = JSON.stringify(whole).replaceAll(/"#\/\$defs\/(\w+)"/g, (_, name) =>
    JSON.stringify(`#/components/schemas/${named(name, io)}`),
  );
  const { $defs = {}, ...json } = JSON.parse(text) as Json & { $defs?: Record<string, Json> };
  for (const [name, { id: _id, ...definition }] of Object.entries($defs)) {
    schemas.set(named(name, io), definition);
  }
  return json;
}

/** What is filled in on the way in is always there on the way out. */
function named(name: string, io: "input" | "output"): string {
  return io === "input" ? `${name}Input` : name;
}
