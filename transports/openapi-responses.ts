import type { Catalog } from "#runtime/catalog.ts";
import { FAULTS, type FaultCode } from "#runtime/faults.ts";
import type { Operation } from "#runtime/operation.ts";
import { keepsAnswer } from "#runtime/operation.ts";
import { CALLBACK_ERRORS } from "./openapi-callbacks.ts";

type Json = Record<string, unknown>;

/** What an operation may be refused with, by reference. */
export function errorResponses(operation: Operation): Json {
  const common: FaultCode[] = [
    "invalid",
    "missing_credential",
    "insufficient_scope",
    "rate_limited",
    "internal",
    "unavailable",
  ];
  const writes: FaultCode[] = keepsAnswer(operation)
    ? ["conflict", "too_large", "idempotency_key_reused"]
    : [];
  const statuses = new Set([...common, ...writes, ...operation.faults].map((code) => FAULTS[code].status));
  return Object.fromEntries(
    [...[...statuses].sort(), "default"].map((status) => [
      status,
      { $ref: `#/components/responses/E${status}` },
    ]),
  );
}

/** Those responses themselves. */
export function responses(catalog: Catalog): Json {
  const used = new Set([
    ...CALLBACK_ERRORS.map(String),
    ...[...catalog.operations.values()].flatMap((one) => Object.keys(errorResponses(one))),
  ]);
  const byStatus = new Map<number, FaultCode[]>();
  for (const [code, { status }] of Object.entries(FAULTS)) {
    if (used.has(String(status))) byStatus.set(status, [...(byStatus.get(status) ?? []), code as FaultCode]);
  }
  const refused = (description: string): Json => ({
    description,
    headers: headerReferences(),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  });
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, codes]) => [`E${status}`, refused(`Refused: ${codes.join(", ")}.`)]),
    ),
    Edefault: refused("Refused before the operation began."),
  };
}

export const ERROR = {
  type: "object",
  required: ["error"],
  properties: {
    error: { type: "string", description: "For people; on authentication failures the token itself." },
    code: { type: "string", enum: Object.keys(FAULTS), description: "Stable; safe to branch on." },
    details: {
      type: "array",
      description: "The first 20; where there are more, the last one says how many.",
      items: {
        type: "object",
        required: ["field", "message"],
        properties: { field: { type: "string" }, message: { type: "string" } },
      },
    },
    retry_after: { type: "integer", description: "Seconds to wait." },
  },
};

const HEADERS = {
  "API-Version": ["The version of this response.", { type: "string" }],
  "X-RateLimit-Limit": ["Requests a window.", { type: "integer" }],
  "X-RateLimit-Remaining": ["Requests left in the window.", { type: "integer" }],
  "X-RateLimit-Reset": ["Unix second at which the window ends.", { type: "integer" }],
  ETag: ["The record's entity tag, for If-Match.", { type: "string" }],
} as const;

const EVERYWHERE = Object.keys(HEADERS).filter((name) => name !== "ETag");

/** The headers of every answer. */
export function headers(): Json {
  return Object.fromEntries(
    Object.entries(HEADERS).map(([name, [description, schema]]) => [name, { description, schema }]),
  );
}

export function headerReferences(beside: string[] = []): Json {
  return Object.fromEntries(
    [...EVERYWHERE, ...beside].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
