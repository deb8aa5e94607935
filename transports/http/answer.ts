import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { type Fault, faultBody } from "#runtime/faults.ts";
import type { Allowance } from "#runtime/limits/rate-limit.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";

/** The facts that all responses of one request share. */
export interface Frame {
  requestId: string;
  version: string;
  allowance: Allowance;
  metadataUrl: string;
  /** Deprecation, Sunset and Link, if the request touches something deprecated. */
  notices?: Record<string, string> | undefined;
}

/** The facts of a request that asks for no version and has no credential of ours. */
export function strangersFrame({ metadataUrl }: Pick<Frame, "metadataUrl">, allowance: Allowance): Frame {
  return { requestId: randomUUID(), version: CURRENT_VERSION, allowance, metadataUrl };
}

export interface Extra {
  contentType?: string;
  headers?: Record<string, string>;
}

/** Builds a response of the API with all its headers. No other function of the API builds one. */
export function answer(
  frame: Frame,
  status: number,
  body: string | ReadableStream | null,
  extra: Extra = {},
): Response {
  return new Response(body, {
    status,
    headers: {
      ...(body !== null && { "content-type": extra.contentType ?? "application/json" }),
      ...headersOf(frame),
      ...extra.headers,
      ...joinedLinks(frame, extra),
    },
  });
}

/** Deprecations and the next page of a list share the header Link. */
function joinedLinks({ notices }: Frame, { headers }: Extra): Record<string, string> {
  const links = [notices?.Link, headers?.Link].filter((link) => link !== undefined);
  return links.length > 1 ? { Link: links.join(", ") } : {};
}

/** The headers that every response carries. */
export function headersOf({ version, allowance, requestId, notices }: Frame): Record<string, string> {
  return {
    "API-Version": version,
    "X-RateLimit-Limit": String(allowance.limit),
    "X-RateLimit-Remaining": String(allowance.remaining),
    "X-RateLimit-Reset": String(allowance.reset),
    "X-Request-Id": requestId,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...notices,
  };
}

/** A fault as JSON, with the headers of its status. */
export function answerFault(frame: Frame, fault: Fault, headers: Record<string, string> = {}): Response {
  const { window } = fault;
  const limited = window ? { ...frame, allowance: { allowed: false, remaining: 0, ...window } } : frame;
  return answer(limited, fault.status, JSON.stringify(faultBody(fault)), {
    headers: { ...headers, ...faultHeaders(frame, fault) },
  });
}

function faultHeaders(frame: Frame, fault: Fault): Record<string, string> {
  if (fault.status === 401) return { "WWW-Authenticate": `Bearer resource_metadata="${frame.metadataUrl}"` };
  if (fault.allow) return { Allow: fault.allow.join(", ") };
  if (fault.retryAfter !== undefined) return { "Retry-After": String(fault.retryAfter) };
  return {};
}

/** A whole HTTP response as text, for connections that have no valid request, or have left HTTP. */
export function rawAnswer(frame: Frame, fault: Fault): string {
  const body = JSON.stringify(faultBody(fault));
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    ...headersOf(frame),
    ...faultHeaders(frame, fault),
    Connection: "close",
  };
  return [
    `HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join("\r\n");
}
