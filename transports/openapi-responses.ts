import type { Catalog } from "#runtime/catalog.ts";
import { FAULTS, type FaultCode } from "#runtime/faults.ts";
import type { Operation } from "#runtime/operation.ts";
import { keepsAnswer } from "#runtime/operation.ts";
import { CALLBACK_ERRORS } from "./openapi-callbacks.ts";
import type { Json } from "./openapi-schemas.ts";

export type HeaderName = keyof typeof HEADERS;

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
  "X-Request-Id": ["The request's own, or one that was made for it.", { type: "string" }],
  Deprecation: [
    "Since when something that the request touches is deprecated (RFC 9745).",
    { type: "string" },
  ],
  Sunset: ["When it goes away (RFC 8594).", { type: "string" }],
  ETag: ["The record's entity tag, for If-Match.", { type: "string" }],
  "Idempotency-Replayed": ["The key was answered before: this is that answer.", { const: "true" }],
  Location: ["Where what was begun is polled.", { type: "string" }],
  Link: ["The next page of a list, and what to read of something deprecated.", { type: "string" }],
  "X-Next-Cursor": ["The cursor of the next page; absent on the last.", { type: "string" }],
  "Content-Range": ["Which of how many, where Prefer asks for a count.", { type: "string" }],
  "Content-Disposition": ["The file's name.", { type: "string" }],
  "WWW-Authenticate": ["Where the metadata of this resource is.", { type: "string" }],
  "Retry-After": ["Seconds to wait, where waiting helps.", { type: "integer" }],
  Allow: ["The methods that there are, on 405.", { type: "string" }],
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

/** The headers of every answer. */
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
