import { z } from "zod";
import { isVersioned } from "#runtime/operation/etag.ts";
import { type Operation, recordsAnswer } from "#runtime/operation/operation.ts";
import { TYPES } from "#transports/rest/prefer-header.ts";
import type { Endpoint } from "./endpoint.ts";
import { type HeaderName, headerReferences } from "./responses.ts";
import { type Json, jsonSchema, referenceTo, type Schemas, schemaName } from "./schemas.ts";

/** The answer of a write with `Prefer: return=minimal`. */
export const NOTHING: Json = {
  type: "object",
  description: "For Prefer: return=minimal.",
  properties: { dry_run: { const: true } },
  additionalProperties: false,
};

/** The success responses of an endpoint, by status. */
export function successes(endpoint: Endpoint, schemas: Schemas): Json {
  const { operation } = endpoint;
  const content = contentOf(endpoint, schemas);
  const success = { description: "Success.", headers: headerReferences(headersOf(endpoint)), content };
  const upsert = {
    ...success,
    description: "With Prefer: resolution=…: the record was changed, or left as it was.",
  };
  return { [operation.status]: success, ...(endpoint.isUpsert && { 200: upsert }) };
}

/** The other forms of a job's rows, which the Accept header asks for. */
function rowContent({ items }: Json, text: Json): Json {
  return { [TYPES.object]: { schema: items }, [TYPES.csv]: text };
}

function contentOf(endpoint: Endpoint, schemas: Schemas): Json {
  const { operation, isRows } = endpoint;
  const { crud, file } = operation;
  const text = { schema: { type: "string" } };
  if (file) return { [file.contentType.split(";")[0]!]: text };
  const output = () => jsonSchema(operation.output, "output", schemas);
  if (!crud) return { [TYPES.json]: { schema: output() }, ...(isRows && rowContent(output(), text)) };
  const record = referenceTo(schemaName(crud.table));
  const own = crud.verb === "delete" || operation.secrets.length > 0 ? output() : record;
  const shapes = shapesOf(endpoint, own, record);
  const single = crud.verb === "delete" ? { anyOf: [own, record] } : crud.verb === "list" ? record : own;
  return {
    [TYPES.json]: { schema: shapes.length === 1 ? shapes[0] : { anyOf: shapes } },
    [TYPES.object]: { schema: single },
    [TYPES.csv]: text,
  };
}

/** The JSON forms of an answer. The first is the one without a Prefer header. */
function shapesOf({ operation, isMatching }: Endpoint, own: Json, record: Json): Json[] {
  const several = (items: Json) => ({ type: "array", items });
  const nothing = referenceTo("Nothing");
  const verb = operation.crud?.verb;
  if (verb === "list") return [several(record)];
  if (verb === "get") return [own];
  if (verb === "update") return [...(isMatching ? [] : [own]), several(own), nothing];
  if (verb === "create") return [own, several(own), nothing];
  return [isMatching ? several(own) : own, several(record), nothing];
}

function headersOf(endpoint: Endpoint): HeaderName[] {
  const { operation, method, isRecord, isRows } = endpoint;
  const { crud } = operation;
  const isOne = crud?.verb === "create" || (isRecord && crud?.verb !== "delete");
  const isPaged = operation.output instanceof z.ZodArray;
  return [
    ...(crud && isOne && isVersioned(crud.table) ? (["ETag"] as const) : []),
    ...(recordsAnswer(operation) && method !== "get" ? (["Idempotency-Replayed"] as const) : []),
    ...(operation.status === 202 ? (["Location"] as const) : []),
    ...(isPaged ? (["X-Next-Cursor"] as const) : []),
    ...(crud || operation.beneath ? (["Content-Range"] as const) : []),
    ...(operation.file || isRows ? (["Content-Disposition"] as const) : []),
  ];
}

/** Whether a create can change an existing record: its table also has an update. */
export function canUpsert(operation: Operation, operations: Iterable<Operation>): boolean {
  const { crud } = operation;
  if (crud?.verb !== "create") return false;
  return [...operations].some((one) => one.crud?.table === crud.table && one.crud.verb === "update");
}
