import { z } from "zod";
import { isVersioned } from "#runtime/etag.ts";
import { keepsAnswer, type Operation } from "#runtime/operation.ts";
import type { Deprecation } from "#runtime/versions.ts";
import { withDeprecations } from "./mcp-tools.ts";
import { type HeaderName, headerReferences } from "./openapi-responses.ts";
import { type Json, jsonSchema, referenceTo, type Schemas, schemaName } from "./openapi-schemas.ts";
import type { Place } from "./rest-places.ts";
import { TYPES } from "./rest-preferences.ts";

/** What a write answers to who wants no more than that it was done. */
export const NOTHING: Json = {
  type: "object",
  description: "For Prefer: return=minimal.",
  properties: { dry_run: { const: true } },
  additionalProperties: false,
};

/** The answers of an operation that has done what it was asked, at one of its places. */
export function successes(place: Place, deprecations: readonly Deprecation[], schemas: Schemas): Json {
  const { operation } = place;
  const content = contentOf(place, deprecations, schemas);
  const success = { description: "Success.", headers: headerReferences(headersOf(place)), content };
  const upsert = { ...success, description: "With Prefer: resolution=…: changed, or left as it was." };
  return { [operation.status]: success, ...(place.upserts && { 200: upsert }) };
}

/** A page of what a job has found, where its headers ask for another shape. */
function rowContent({ items }: Json, text: Json): Json {
  return { [TYPES.object]: { schema: items }, [TYPES.csv]: text };
}

function contentOf(place: Place, deprecations: readonly Deprecation[], schemas: Schemas): Json {
  const { operation, isRows } = place;
  const { crud, file } = operation;
  const text = { schema: { type: "string" } };
  if (file) return { [file.contentType.split(";")[0]!]: text };
  const output = () =>
    withDeprecations(jsonSchema(operation.output, "output", schemas), deprecations, "output");
  if (!crud) return { [TYPES.json]: { schema: output() }, ...(isRows && rowContent(output(), text)) };
  const record = referenceTo(schemaName(crud.table));
  const own = crud.verb === "delete" || operation.secrets.length > 0 ? output() : record;
  const shapes = shapesOf(place, own, record);
  const single = crud.verb === "delete" ? { anyOf: [own, record] } : crud.verb === "list" ? record : own;
  return {
    [TYPES.json]: { schema: shapes.length === 1 ? shapes[0] : { anyOf: shapes } },
    [TYPES.object]: { schema: single },
    [TYPES.csv]: text,
  };
}

/** As JSON, first what comes without a header that asks otherwise. */
function shapesOf({ operation, isMatching }: Place, own: Json, record: Json): Json[] {
  const several = (items: Json) => ({ type: "array", items });
  const nothing = referenceTo("Nothing");
  const verb = operation.crud?.verb;
  if (verb === "list") return [several(record)];
  if (verb === "get") return [own];
  if (verb === "update") return [...(isMatching ? [] : [own]), several(own), nothing];
  if (verb === "create") return [own, several(own), nothing];
  return [isMatching ? several(own) : own, several(record), nothing];
}

function headersOf(place: Place): HeaderName[] {
  const { operation, method, onRecord, isRows } = place;
  const { crud } = operation;
  const isOne = crud?.verb === "create" || (onRecord && crud?.verb !== "delete");
  const isPaged = operation.output instanceof z.ZodArray;
  return [
    ...(crud && isOne && isVersioned(crud.table) ? (["ETag"] as const) : []),
    ...(keepsAnswer(operation) && method !== "get" ? (["Idempotency-Replayed"] as const) : []),
    ...(operation.status === 202 ? (["Location"] as const) : []),
    ...(isPaged ? (["X-Next-Cursor"] as const) : []),
    ...(crud || operation.beneath ? (["Content-Range"] as const) : []),
    ...(operation.file || isRows ? (["Content-Disposition"] as const) : []),
  ];
}

/** Whether an operation's records are told apart by what a client sends, so that one that is there can be changed. */
export function canUpsert(operation: Operation, operations: Iterable<Operation>): boolean {
  const { crud } = operation;
  if (crud?.verb !== "create") return false;
  return [...operations].some((one) => one.crud?.table === crud.table && one.crud.verb === "update");
}
