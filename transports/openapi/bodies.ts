import { z } from "zod";
import type { Operation } from "#runtime/operation/operation.ts";
import { exampleOf } from "#transports/examples/examples.ts";
import { type Json, jsonSchema, referenceTo, type Schemas, schemaName } from "./schemas.ts";

const MAX_RECORDS = 1000;

/** The body of a request. A table's create takes one record, or several at once. */
export function requestBody(operation: Operation, schemas: Schemas): Json {
  const { crud, upload } = operation;
  const input = crud?.verb === "update" ? operation.input.omit({ id: true }) : operation.input;
  const schema = withOptionalTenant(operation, jsonSchema(input, "input", schemas));
  const required = Array.isArray(schema.required) && schema.required.length > 0;
  const { id, ...fields } = exampleOf(operation);
  const example = crud ? fields : { ...(id !== undefined && { id }), ...fields };
  if (crud?.verb !== "create") return { required, content: { "application/json": { schema, example } } };
  const name = `New${schemaName(crud.table)}`;
  schemas.set(name, schema);
  const one = referenceTo(name);
  const several = { type: "array", minItems: 1, maxItems: MAX_RECORDS, items: one };
  return {
    required,
    content: {
      "application/json": { schema: { anyOf: [one, several] }, example },
      ...(upload && uploads(operation, upload, { schemas, example })),
    },
  };
}

/** The field that names the property can be left out where the credential has one property alone. */
function withOptionalTenant({ property: field }: Operation, schema: Json): Json {
  const { properties, required } = schema as { properties?: Record<string, Json>; required?: string[] };
  if (field === null || !properties?.[field]) return schema;
  const description = "Default: the credential's property, where it has one alone.";
  const needed = (required ?? []).filter((name) => name !== field);
  const { required: _, ...rest } = schema;
  return {
    ...rest,
    properties: { ...properties, [field]: { ...properties[field], description } },
    ...(needed.length > 0 && { required: needed }),
  };
}

/** The file as the body, or as a part of it. */
function uploads(
  operation: Operation,
  upload: readonly string[],
  { schemas, example }: { schemas: Schemas; example: Json },
): Json {
  const text = Object.entries(example).find(([name]) => upload.includes(name))?.[1];
  const params = Object.fromEntries(Object.entries(example).filter(([name]) => !upload.includes(name)));
  const file = { type: "string", contentMediaType: "text/csv", description: "The file, with a filename." };
  return {
    "multipart/form-data": {
      schema: {
        type: "object",
        required: ["file"],
        properties: { file, params: jsonSchema(besideFile(operation, upload), "input", schemas) },
      },
      example: { file: text, params },
      encoding: { file: { contentType: "text/csv" }, params: { contentType: "application/json" } },
    },
    "text/csv": {
      schema: { type: "string", description: "The file alone. Its parameters go into the address." },
      example: text,
    },
  };
}

/** The parameters of an upload in the address, for a body that is the file itself. */
export function uploadParameters(operation: Operation, schemas: Schemas): Json[] {
  const { upload } = operation;
  if (!upload) return [];
  const { properties } = jsonSchema(besideFile(operation, upload), "input", schemas) as { properties: Json };
  return Object.entries(properties).map(([name, one]) => {
    const { description = "", ...schema } = one as Json & { description?: string };
    const text = `With a text/csv body. ${description}`.trim();
    const structured = schema.type === "object";
    return {
      ...{ name, in: "query", description: text },
      ...(structured ? { content: { "application/json": { schema } } } : { schema, explode: false }),
    };
  });
}

function besideFile({ input }: Operation, upload: readonly string[]): z.ZodObject {
  const kept = Object.entries(input.shape).filter(([name]) => !upload.includes(name));
  return z.strictObject(Object.fromEntries(kept));
}
