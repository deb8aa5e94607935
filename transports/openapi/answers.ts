import { z } from "zod";
import { isVersioned } from "#runtime/operation/etag.ts";
import { canBeTried, type Operation, recordsAnswer } from "#runtime/operation/operation.ts";
import { TYPES } from "#transports/rest/options.ts";
import type { Endpoint } from "./endpoint.ts";
import { type HeaderName, headerReferences } from "./responses.ts";
import { type Json, jsonSchema, referenceTo, type Schemas, schemaName } from "./schemas.ts";

/** The success responses of an endpoint, by status. */
export function successes(endpoint: Endpoint, schemas: Schemas): Json {
  const { operation } = endpoint;
  const content = contentOf(endpoint, schemas);
  const success = {
    description: descriptionOf(endpoint),
    headers: headerReferences(headersOf(endpoint)),
    content,
  };
  const upsert = {
    ...success,
    description: "With Prefer: resolution=…: the record was changed, or left as it was.",
  };
  return {
    [operation.status]: success,
    ...(answersNothing(endpoint) && { 204: { description: EMPTY, headers: success.headers } }),
    ...(operation.status === 202 && canBeTried(operation) && { 200: { ...success, description: TRIED } }),
    ...(endpoint.isUpsert && { 200: upsert }),
    ...(isConditional(endpoint) && {
      304: { description: "The record has the ETag of If-None-Match.", headers: headerReferences(["ETag"]) },
    }),
  };
}

const EMPTY = "With Prefer: return=minimal: it is done.";
const TRIED = "With dry_run: the answer of a try. Nothing was begun, so there is no job of this id to poll.";

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
  if (!crud) {
    return {
      [TYPES.json]: { schema: output() },
      ...(operation.zipped && { "application/zip": { schema: { type: "string", format: "binary" } } }),
      ...(isRows && rowContent(output(), text)),
    };
  }
  const record = referenceTo(schemaName(crud.table));
  const own = crud.verb === "delete" || operation.secrets.length > 0 ? output() : record;
  const single = crud.verb === "delete" ? { anyOf: [own, record] } : own;
  return {
    [TYPES.json]: { schema: isSeveral(endpoint) ? { type: "array", items: own } : own },
    [TYPES.object]: { schema: single },
    [TYPES.csv]: text,
  };
}

/** Whether the answer without a Prefer header is an array. */
function isSeveral({ operation, isMatching }: Endpoint): boolean {
  return operation.crud?.verb === "list" || isMatching;
}

/** The schema is that of the plain request. Its other forms are said in words: a choice would cost each caller a cast. */
function descriptionOf({ operation }: Endpoint): string {
  const verb = operation.crud?.verb;
  if (verb === undefined || verb === "list" || verb === "get") return "Success.";
  const several = verb === "create" ? "With an array in the body: an array of them. " : "";
  const what = verb === "delete" ? "what was deleted" : "what was written";
  return `Success. ${several}With Prefer: return=representation: an array of ${what}. With return=minimal: no body.`;
}

/** Whether return=minimal can answer 204: a create without an upsert is always 201 or 202. */
function answersNothing({ operation: { crud, status }, isUpsert }: Endpoint): boolean {
  return isUpsert || (status === 200 && (crud?.verb === "update" || crud?.verb === "delete"));
}

/** Whether If-None-Match is read: a single record with an ETag. */
export function isConditional({ operation: { crud }, isRecord }: Endpoint): boolean {
  return crud?.verb === "get" && isRecord && isVersioned(crud.table);
}

function headersOf(endpoint: Endpoint): HeaderName[] {
  const { operation, method, isRecord, isRows } = endpoint;
  const { crud } = operation;
  const isOne = crud?.verb === "create" || (isRecord && crud?.verb !== "delete");
  const isPaged = operation.output instanceof z.ZodArray;
  return [
    ...(crud && isOne && isVersioned(crud.table) ? (["ETag"] as const) : []),
    ...(recordsAnswer(operation) && method !== "get" ? (["Idempotency-Replayed"] as const) : []),
    ...(crud?.verb === "create" ? (["Location"] as const) : []),
    ...(isPaged ? (["X-Next-Cursor", "X-Warnings"] as const) : []),
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
