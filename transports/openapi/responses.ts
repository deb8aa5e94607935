import { FAULTS, type FaultCode } from "#runtime/faults.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { type Operation, recordsAnswer } from "#runtime/operation/operation.ts";
import { CALLBACK_ERRORS } from "./callbacks.ts";
import type { Json } from "./schemas.ts";

export type HeaderName = keyof typeof HEADERS;

/** The error responses of an operation, as references. */
export function errorResponses(operation: Operation): Json {
  const common: FaultCode[] = [
    "invalid",
    "missing_credential",
    "insufficient_scope",
    "rate_limited",
    "internal",
    "unavailable",
  ];
  const writes: FaultCode[] = recordsAnswer(operation)
    ? ["conflict", "too_large", "idempotency_key_reused"]
    : [];
  const shapes: FaultCode[] = operation.crud ? ["not_acceptable"] : [];
  const codes = [...common, ...writes, ...shapes, ...operation.faults];
  const statuses = new Set(codes.map((code) => FAULTS[code].status));
  return Object.fromEntries(
    [...[...statuses].sort(), "default"].map((status) => [
      status,
      { $ref: `#/components/responses/E${status}` },
    ]),
  );
}

/** The error responses that the references name. */
export function responses(catalog: Catalog): Json {
  const used = new Set([
    ...CALLBACK_ERRORS.map(String),
    ...[...catalog.operations.values()].flatMap((one) => Object.keys(errorResponses(one))),
  ]);
  const byStatus = new Map<number, FaultCode[]>();
  for (const [code, { status }] of Object.entries(FAULTS)) {
    if (used.has(String(status))) byStatus.set(status, [...(byStatus.get(status) ?? []), code as FaultCode]);
  }
  const refused = (description: string, status: number | "default"): Json => ({
    description,
    headers: headerReferences(REFUSED_WITH[status]),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  });
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, codes]) => [
        `E${status}`,
        refused(`Refused: ${codes.join(", ")}.`, status),
      ]),
    ),
    Edefault: refused("Refused before the operation began.", "default"),
  };
}

export const ERROR = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "string",
      description: "A sentence for people; on authentication failures the error token.",
    },
    code: { type: "string", enum: Object.keys(FAULTS), description: "Stable; safe to branch on." },
    details: {
      type: "array",
      description: "The first 20; if there are more, the last one says how many.",
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
  "X-RateLimit-Limit": ["Requests in a window.", { type: "integer" }],
  "X-RateLimit-Remaining": ["Requests left in the window.", { type: "integer" }],
  "X-RateLimit-Reset": ["Unix second at which the window ends.", { type: "integer" }],
  "X-Request-Id": ["The request's own id, or a new one.", { type: "string" }],
  Deprecation: ["The date since which a part of the request is deprecated (RFC 9745).", { type: "string" }],
  Sunset: ["The date of its removal (RFC 8594).", { type: "string" }],
  ETag: ["The record's entity tag, for If-Match.", { type: "string" }],
  "Idempotency-Replayed": ["The key was used before: this is the recorded response.", { const: "true" }],
  Location: ["The address of the new record, or of a job: poll it for the result.", { type: "string" }],
  Link: ["The next page of a list, and the documentation of a deprecation.", { type: "string" }],
  "X-Next-Cursor": ["The cursor of the next page; absent on the last.", { type: "string" }],
  "X-Warnings": ["Why a list is empty, as a JSON array of sentences.", { type: "string" }],
  "Content-Range": ["The rows of this page and the total, if Prefer asks for a count.", { type: "string" }],
  "Content-Disposition": ["The file's name.", { type: "string" }],
  "WWW-Authenticate": ["The address of this resource's metadata.", { type: "string" }],
  "Retry-After": ["Seconds to wait, if waiting helps.", { type: "integer" }],
  Allow: ["The methods of this address, on 405.", { type: "string" }],
} as const;

const EVERYWHERE: readonly HeaderName[] = [
  "API-Version",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
  "Deprecation",
  "Sunset",
  "Link",
];

const REFUSED_WITH: Partial<Record<number | "default", HeaderName[]>> = {
  401: ["WWW-Authenticate"],
  404: ["Idempotency-Replayed"],
  409: ["Idempotency-Replayed", "Retry-After"],
  429: ["Retry-After"],
  503: ["Retry-After"],
  default: ["Allow"],
};

/** The descriptions of all response headers. */
export function headers(): Json {
  return Object.fromEntries(
    Object.entries(HEADERS).map(([name, [description, schema]]) => [name, { description, schema }]),
  );
}

export function headerReferences(beside: readonly HeaderName[] = []): Json {
  return Object.fromEntries(
    [...EVERYWHERE, ...beside].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
