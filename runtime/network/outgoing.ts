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
  signal?: AbortSignal;
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
  using clock = startClock(request.timeoutMs ?? TIMEOUT_MS, request.signal);
  // undici checks the signal only once a request has its connection; the race covers the wait for it.
  return await Promise.race([exchange(agent, receiver, request, clock.signal), clock.over]);
}

async function exchange(
  agent: Agent,
  receiver: URL,
  { headers, body }: OutgoingRequest,
  signal: AbortSignal,
): Promise<OutgoingAnswer> {
  const started = performance.now();
  const trace = traceparent();
  const response = await agent.request({
    origin: receiver.origin,
    path: receiver.pathname + receiver.search,
    method: "POST",
    headers: trace === null ? headers : { ...headers, traceparent: trace },
    body,
    signal,
  });
  return {
    status: response.statusCode,
    headers: flatten(response.headers),
    snippet: await readSnippet(response.body),
    durationMs: Math.round(performance.now() - started),
  };
}

interface Clock extends Disposable {
  signal: AbortSignal;
  over: Promise<never>;
}

// Not AbortSignal.any: it leaves an entry per request on a signal that lives as long as the worker.
function startClock(timeoutMs: number, outer: AbortSignal | undefined): Clock {
  const controller = new AbortController();
  const { promise: over, reject } = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    controller.abort(reason);
    reject(reason);
  };
  const timer = setTimeout(() => {
    stop(new DOMException(`No complete answer within ${timeoutMs} ms.`, "TimeoutError"));
  }, timeoutMs);
  const follow = () => stop(outer?.reason);
  if (outer?.aborted) follow();
  outer?.addEventListener("abort", follow);
  return {
    signal: controller.signal,
    over,
    [Symbol.dispose]() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", follow);
    },
  };
}

function flatten(headers: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    flat[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  return flat;
}

// Events, not `for await`: that costs 4 µs a request, a fifth of all of it.
function readSnippet(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const finish = () => resolve(toStorableText(Buffer.concat(chunks)));
    body.on("data", (chunk: Buffer) => {
      if (bytes < SNIPPET_BYTES) chunks.push(chunk.subarray(0, SNIPPET_BYTES - bytes));
      bytes += chunk.length;
      if (bytes <= DRAIN_BYTES) return;
      finish();
      body.destroy();
    });
    body.on("end", finish);
    body.on("error", reject);
  });
}

// The decoder (stream) leaves out a character that the cut halved, and PostgreSQL's text holds no NUL.
function toStorableText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true }).replaceAll("\0", "\uFFFD");
}
