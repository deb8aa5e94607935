import { z } from "zod";
import type { Operation } from "#runtime/operation.ts";
import type { Deprecation } from "#runtime/versions.ts";
import { withDeprecations } from "./mcp-tools.ts";
import { type Json, jsonSchema, referenceTo, type Schemas, schemaName } from "./openapi-schemas.ts";

const MOST_RECORDS = 1000;

/** What an operation is sent: of a table's creation one record, or several at once. */
export function requestBody(
  operation: Operation,
  deprecations: readonly Deprecation[],
  schemas: Schemas,
): Json {
  const { crud, upload } = operation;
  const input = crud?.verb === "update" ? operation.input.omit({ id: true }) : operation.input;
  const schema = withDeprecations(jsonSchema(input, "input", schemas), deprecations, "input");
  const required = Array.isArray(schema.required) && schema.required.length > 0;
  if (crud?.verb !== "create") return { required, content: { "application/json": { schema } } };
  const name = `New${schemaName(crud.table)}`;
  schemas.set(name, schema);
  const one = referenceTo(name);
  const several = { type: "array", minItems: 1, maxItems: MOST_RECORDS, items: one };
  return {
    required,
    content: {
      "application/json": { schema: { anyOf: [one, several] } },
      ...(upload && uploads(operation, upload, schemas)),
    },
  };
}

/** A file as the body, or as a part of it. */
function uploads(operation: Operation, upload: readonly string[], schemas: Schemas): Json {
  const file = { type: "string", contentMediaType: "text/csv", description: "The file, with a filename." };
  return {
    "multipart/form-data": {
      schema: {
        type: "object",
        required: ["file"],
        properties: { file, params: jsonSchema(besideFile(operation, upload), "input", schemas) },
      },
      encoding: { file: { contentType: "text/csv" }, params: { contentType: "application/json" } },
    },
    "text/csv": {
      schema: { type: "string", description: "The file alone. What it is to be told goes into the address." },
    },
  };
}

/** What may be said of a file in the address, where the body is the file itself. */
export function uploadParameters(operation: Operation, schemas: Schemas): Json[] {
  const { upload } = operation;
  if (!upload) return [];
  const { properties } = jsonSchema(besideFile(operation, upload), "input", schemas) as { properties: Json };
  return Object.entries(properties).map(([name, one]) => {
    const { description = "", ...schema } = one as Json & { description?: string };
    const words = `With a text/csv body. ${description}`.trim();
    const structured = schema.type === "object";
    return {
      ...{ name, in: "query", description: words },
      ...(structured ? { content: { "application/json": { schema } } } : { schema, explode: false }),
    };
  });
}

function besideFile({ input }: Operation, upload: readonly string[]): z.ZodObject {
  const kept = Object.entries(input.shape).filter(([name]) => !upload.includes(name));
  return z.strictObject(Object.fromEntries(kept));
}
