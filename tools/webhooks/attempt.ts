import { errorCode } from "#db/connection/error-code.ts";
import { storable } from "#db/text.ts";
import type { Outgoing, OutgoingAnswer } from "#runtime/network/outgoing.ts";
import { readRetryAfter } from "#runtime/network/retry-after.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { signWebhook } from "#runtime/secrets/signature.ts";
import { webhookCalls } from "#runtime/telemetry/metrics.ts";
import { eventBody, eventId, type StoredEvent } from "./event-body.ts";
import type { Attempt } from "./webhook-deliveries.table.ts";
import type endpoints from "./webhook-endpoints.table.ts";

/** A delivery that is due, with its event. */
export interface Delivery extends StoredEvent {
  id: string;
  attempt_count: number;
}

/** The receiver of a batch, and the secrets that sign it. */
export type Receiver = Pick<RowOf<typeof endpoints.columns>, "url" | "include_pii"> & {
  secret: string;
  previous_secret: string | null;
};

/** The result of an attempt for the delivery's row. `delay`: seconds until the next attempt, while pending. */
export interface AttemptOutcome {
  id: string;
  status: "delivered" | "pending" | "failed";
  delay: number | null;
  attempt: Attempt;
  /** The state of the receiver as a whole. */
  receiver: { hangs: boolean; gone: boolean; retryAfter: number };
}

export interface Post {
  outgoing: Outgoing;
  prefix: string;
  propertyId: string;
  /** The database's clock, in milliseconds since 1970. */
  now(): number;
}

// Seconds before each attempt: https://github.com/svix/svix-webhooks config.default.toml, plus one at once.
const SCHEDULE = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];
const JITTER = 0.2;
const TIMEOUT_MS = 15_000;
const MOST_RETRY_AFTER = 86_400;
const SNIPPET = 300;

/** Posts a delivery once, with a new signature. A receiver's failure is an outcome, never an exception. */
export async function attempt(post: Post, receiver: Receiver, delivery: Delivery): Promise<AttemptOutcome> {
  const sentAt = post.now();
  const ended = webhookCalls.startTimer();
  try {
    const answer = await post.outgoing.post({
      url: receiver.url,
      timeoutMs: TIMEOUT_MS,
      ...signed(post, receiver, delivery, sentAt),
    });
    ended({ outcome: `${Math.floor(answer.status / 100)}xx` });
    return judge(delivery, sentAt, answer);
  } catch (error) {
    ended({ outcome: "failed" });
    const { message, hangs } = explain(error);
    const durationMs = Math.round(post.now() - sentAt);
    return outcome(delivery, sentAt, { status: null, durationMs, snippet: null, error: message, hangs });
  }
}

function signed({ prefix, propertyId }: Post, receiver: Receiver, delivery: Delivery, sentAt: number) {
  const body = eventBody(delivery, propertyId, receiver.include_pii);
  const headers = signWebhook({
    secret: receiver.secret,
    ...(receiver.previous_secret !== null && { previousSecret: receiver.previous_secret }),
    id: eventId(delivery.event_id),
    timestamp: Math.floor(sentAt / 1000),
    body,
    prefix,
  });
  headers["content-type"] = "application/json";
  headers["user-agent"] = `${prefix}-Webhooks/1`;
  headers[`X-${prefix}-Event`] = delivery.type;
  headers[`X-${prefix}-Delivery`] = delivery.id;
  return { headers, body };
}

function judge(delivery: Delivery, sentAt: number, answer: OutgoingAnswer): AttemptOutcome {
  const { status, durationMs, snippet } = answer;
  const good = status >= 200 && status < 300;
  const redirect = status >= 300 && status < 400 ? " Redirects are not followed." : "";
  return outcome(delivery, sentAt, {
    status,
    durationMs,
    snippet,
    error: good ? null : `The receiver answered ${status}.${redirect}`,
    retryAfter: status === 429 || status === 503 ? askedFor(answer.headers["retry-after"], sentAt) : 0,
  });
}

interface Result {
  status: number | null;
  durationMs: number;
  snippet: string | null;
  error: string | null;
  hangs?: boolean;
  retryAfter?: number;
}

function outcome(delivery: Delivery, sentAt: number, result: Result): AttemptOutcome {
  const { status, error, retryAfter = 0 } = result;
  const gone = status === 410;
  const next = SCHEDULE[delivery.attempt_count + 1];
  const state = error === null ? "delivered" : gone || next === undefined ? "failed" : "pending";
  return {
    id: delivery.id,
    status: state,
    delay: state === "pending" ? Math.max(jittered(next ?? 0), retryAfter) : null,
    attempt: {
      at: new Date(sentAt).toISOString(),
      status_code: status,
      duration_ms: result.durationMs,
      error,
      response_snippet: result.snippet && storable(result.snippet, SNIPPET),
    },
    receiver: { hangs: result.hangs ?? false, gone, retryAfter },
  };
}

function jittered(seconds: number): number {
  return seconds * (1 - JITTER + 2 * JITTER * Math.random());
}

/** The seconds that the receiver asks for, at most a day. */
function askedFor(header: string | undefined, now: number): number {
  return Math.min(Math.max(readRetryAfter(header, now) ?? 0, 0), MOST_RETRY_AFTER);
}

const HANGS = new Set(["ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT"]);

function explain(error: unknown): { message: string; hangs: boolean } {
  const known = error instanceof Error ? error : new Error(String(error));
  const code = errorCode(known);
  return {
    message: (known.message || code || known.name).slice(0, SNIPPET),
    hangs: known.name === "TimeoutError" || HANGS.has(code),
  };
}
