import { z } from "zod";
import { errorCode } from "#db/connection/error-code.ts";
import { readRetryAfter } from "#runtime/network/retry-after.ts";
import { traceparent } from "#runtime/telemetry/activity.ts";
import type { SendOutcome } from "./channel.ts";

/** The answer of a vendor's API. `body` is parsed JSON, or null when it is not JSON. */
export interface Reply {
  status: number;
  headers: Headers;
  body: unknown;
}

/**
 * The vendor's reason for a refusal. `own`: it has the vendor's documented form, so no gateway on the way wrote it.
 */
export interface Refusal {
  code: string;
  message: string;
  own: boolean;
}

type Unsent = Exclude<SendOutcome, { status: "sent" }>;

const TIMEOUT_MS = 15_000;
const MOST_RETRY_AFTER = 86_400;
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** A vendor's key as a header carries it. A request with another character cannot be made, and no message would go. */
export function credential(most = 500) {
  return z
    .string()
    .min(1)
    .max(most)
    .regex(
      /^[!-~]*$/,
      "has a space or another character that no key has: copy it again from the vendor's own page",
    );
}

/** Sends one request to a vendor's API. Without an answer, `reached` says whether the request may have arrived. */
export async function callApi(request: Request): Promise<Reply | { reached: boolean; message: string }> {
  const trace = traceparent();
  if (trace) request.headers.set("traceparent", trace);
  try {
    const response = await fetch(request, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text().catch(() => "");
    return { status: response.status, headers: response.headers, body: parsed(text) };
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    const cause = reason.cause instanceof Error ? reason.cause : reason;
    const code = errorCode(cause);
    return { reached: !isNotConnected(cause), message: cause.message || code || reason.name };
  }
}

/** A refused certificate, or a handshake that failed: the codes of Node.js and of OpenSSL. */
const NOT_SECURED =
  /^(CERT_|ERR_TLS_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_|ERR_SSL_[\w/]+_ALERT_(PROTOCOL_VERSION|HANDSHAKE_FAILURE)$)/;
/** Has the code of any other reset. */
const CUT_IN_HANDSHAKE = "Client network socket disconnected before secure TLS connection was established";

/** Whether an error says that there was no connection, or no secure one, so nothing of the request was sent. */
export function isNotConnected(error: unknown): boolean {
  const code = errorCode(error);
  if (NOT_CONNECTED.has(code) || NOT_SECURED.test(code)) return true;
  return error instanceof Error && error.message === CUT_IN_HANDSHAKE;
}

/**
 * The outcome of a message that the API did not take. Refused credentials stop everything. Too many requests, and the
 * vendor's own 503, mean certainly not sent. A gateway's 503 does not: the vendor behind it may have taken the
 * message. After any other 5xx, or without an answer, the outcome is unknown.
 */
export function trouble(
  { id, to }: { id: string; to: string },
  reply: Awaited<ReturnType<typeof callApi>>,
  refusal: Refusal = { code: "", message: "", own: false },
): Unsent {
  const words = (text: string) => text.replaceAll(to, "<recipient>");
  if ("reached" in reply) {
    const message = words(reply.message);
    if (reply.reached) return { id, status: "unknown", code: "no_answer", message };
    return { id, status: "retry", code: "not_connected", message, busy: true };
  }
  const { status, headers } = reply;
  const about = {
    id,
    code: refusal.code || `http_${status}`,
    message: words(refusal.message || `The provider answered ${status}.`),
  };
  if (status === 401 || status === 403)
    return { ...about, status: "retry", code: "provider_auth", fatal: true };
  if (status === 429 || (status === 503 && refusal.own)) {
    return { ...about, status: "retry", busy: true, ...retryAfter(headers) };
  }
  return { ...about, status: status >= 500 || status < 400 ? "unknown" : "failed" };
}

/** Whether an API took the request. Some vendors say in the body alone that they did not. */
export async function isTaken(request: Request): Promise<boolean> {
  const reply = await callApi(request);
  return "status" in reply && reply.status < 300 && textAt(reply.body, "status") !== "error";
}

/** A text field of a JSON answer; empty when it is missing or no text. */
export function textAt(body: unknown, ...path: (string | number)[]): string {
  let value = body;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return "";
    value = (value as Record<string | number, unknown>)[key];
  }
  return typeof value === "string" ? value : "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function retryAfter(headers: Headers): { retryAfter?: number } {
  const seconds = readRetryAfter(headers.get("retry-after"), Date.now());
  return seconds === null ? {} : { retryAfter: Math.min(Math.max(seconds, 1), MOST_RETRY_AFTER) };
}
