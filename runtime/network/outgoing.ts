import type { IncomingHttpHeaders } from "node:http";
import { Agent, type Dispatcher } from "undici";
import { traceparent } from "#runtime/telemetry/activity.ts";
import type { Resolve } from "./dns-lookup.ts";
import { AddressRefused, guardedLookup, type OutgoingOptions, readReceiver } from "./public-address.ts";

export interface OutgoingRequest {
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  /** Milliseconds for everything together: name, connection, headers and body. 15,000 when absent. */
  timeoutMs?: number;
}

export interface OutgoingAnswer {
  status: number;
  headers: Record<string, string>;
  /** The first KiB of the body as text that PostgreSQL can store. */
  snippet: string;
  durationMs: number;
}

export interface Outgoing {
  post(request: OutgoingRequest): Promise<OutgoingAnswer>;
  /** Ends every connection with its running requests. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 15_000;
// Requests that hang keep their connections; the other endpoints of the origin need some too.
const CONNECTIONS_PER_ORIGIN = 128;
const SNIPPET_BYTES = 1024;
// A longer body costs its connection, because reading it to the end would cost more than a new one.
const DRAIN_BYTES = 16 * 1024;

/** Posts to customers' addresses. Follows no redirect; throws `AddressRefused`, or undici's error. */
export function outgoing(options: OutgoingOptions, resolve?: Resolve): Outgoing {
  const agent = new Agent({
    // HTTP/2 would put every request to an origin on one connection, and one stall would hold them all.
    allowH2: false,
    connections: CONNECTIONS_PER_ORIGIN,
    connect: { lookup: guardedLookup(options, resolve), timeout: TIMEOUT_MS },
    // One clock covers the whole request, so undici's own two stay off.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    post: (request) => post(agent, request, options),
    close: () => agent.destroy(),
  };
}

async function post(
  agent: Agent,
  request: OutgoingRequest,
  options: OutgoingOptions,
): Promise<OutgoingAnswer> {
  const receiver = readReceiver(request.url, options);
  if (!(receiver instanceof URL)) throw new AddressRefused(receiver);
  const trace = traceparent();
  const { headers, body, timeoutMs = TIMEOUT_MS } = request;
  return await exchange(agent, timeoutMs, {
    origin: receiver.origin,
    path: receiver.pathname + receiver.search,
    method: "POST",
    headers: trace === null ? headers : { ...headers, traceparent: trace },
    body,
  });
}

// Not `agent.request`: its stream and its AbortSignal cost more than the rest of a request to a quick receiver.
async function exchange(
  agent: Agent,
  timeoutMs: number,
  request: Dispatcher.DispatchOptions,
): Promise<OutgoingAnswer> {
  const started = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<OutgoingAnswer>();
  let controller: Dispatcher.DispatchController | null = null;
  let late: DOMException | null = null;
  const timer = setTimeout(() => {
    late = new DOMException(`No complete answer within ${timeoutMs} ms.`, "TimeoutError");
    reject(late);
    controller?.abort(late);
  }, timeoutMs);
  let answer: Pick<OutgoingAnswer, "status" | "headers">;
  const { add, text } = openSnippet();
  const finish = () =>
    resolve({ ...answer, snippet: text(), durationMs: Math.round(performance.now() - started) });
  agent.dispatch(request, {
    // A request that has waited for a connection too long starts all the same.
    onRequestStart(starting) {
      controller = starting;
      if (late) controller.abort(late);
    },
    onResponseStart: (_, status, headers) => {
      answer = { status, headers: flatten(headers) };
    },
    onResponseData(responding, chunk) {
      if (add(chunk)) return;
      finish();
      responding.abort(new Error("The answer is too long."));
    },
    onResponseEnd: finish,
    onResponseError: (_, error) => reject(error),
  });
  return await promise.finally(() => clearTimeout(timer));
}

function flatten(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    flat[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  return flat;
}

/** Keeps the begin of a body. `add` answers whether more is worth its reading. */
function openSnippet() {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    add(chunk: Buffer): boolean {
      if (bytes < SNIPPET_BYTES) chunks.push(chunk.subarray(0, SNIPPET_BYTES - bytes));
      bytes += chunk.length;
      return bytes <= DRAIN_BYTES;
    },
    text: () => toStorableText(Buffer.concat(chunks)),
  };
}

// The decoder (stream) leaves out a character that the cut halved, and PostgreSQL's text holds no NUL.
function toStorableText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true }).replaceAll("\0", "\uFFFD");
}
