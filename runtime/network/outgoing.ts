import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { Agent, type Dispatcher } from "undici";
import { traceparent } from "#runtime/telemetry/activity.ts";
import { webhookCalls } from "#runtime/telemetry/metrics.ts";
import { openNames, type Resolve } from "./dns-lookup.ts";

export interface OutgoingOptions {
  /** Also reaches loopback and private addresses: for development and tests only. */
  allowPrivate: boolean;
  allowHttp: boolean;
}

export interface OutgoingRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
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

/** The receiver has an address that the service does not call. */
export class AddressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AddressRefused";
  }
}

const resolveAll = openNames();
const TIMEOUT_MS = 15_000;
// Requests that hang keep their connections; the other endpoints of the origin need some too.
const CONNECTIONS_PER_ORIGIN = 128;
const MAX_URL = 2048;
const SNIPPET_BYTES = 1024;
// A longer body costs its connection, because reading it to the end would cost more than a new one.
const DRAIN_BYTES = 16 * 1024;

/** Posts to customers' addresses. Follows no redirect; throws `AddressRefused`, or undici's error. */
export function outgoing(options: OutgoingOptions, resolve: Resolve = resolveAll): Outgoing {
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

/** The reason why a URL may not be a receiver, found without a network call; null when it may be one. */
export function refuseUrl(url: string, options: OutgoingOptions): string | null {
  const receiver = readReceiver(url, options);
  return receiver instanceof URL ? null : receiver;
}

async function post(
  agent: Agent,
  request: OutgoingRequest,
  options: OutgoingOptions,
): Promise<OutgoingAnswer> {
  const receiver = readReceiver(request.url, options);
  if (!(receiver instanceof URL)) throw new AddressRefused(receiver);
  using clock = startClock(request.timeoutMs ?? TIMEOUT_MS, request.signal);
  const ended = webhookCalls.startTimer();
  try {
    // undici checks the signal only once a request has its connection; the race covers the wait for it.
    const answer = await Promise.race([exchange(agent, receiver, request, clock.signal), clock.over]);
    ended({ outcome: `${Math.floor(answer.status / 100)}xx` });
    return answer;
  } catch (error) {
    ended({ outcome: "failed" });
    throw error;
  }
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

function readReceiver(text: string, options: OutgoingOptions): URL | string {
  if (text.length > MAX_URL) return `The URL is longer than ${MAX_URL} characters.`;
  const url = URL.parse(text);
  if (!url) return "This is not a complete URL.";
  if (url.protocol !== "https:" && !(options.allowHttp && url.protocol === "http:")) {
    return `The URL must start with ${options.allowHttp ? "http:// or https://" : "https://"}.`;
  }
  if (url.username || url.password) return "The URL must not carry a user name or a password.";
  if (options.allowPrivate) return url;
  return refuseHost(url.hostname) ?? url;
}

/** The reason why a host is not on the public internet, found without a network call; null when it may be. */
export function refuseHost(hostname: string): string | null {
  // The parser reads 0x7f.1, 2130706433 and full-width digits as the IPv4 address they mean.
  const read = URL.parse(`http://${isIP(hostname) === 6 ? `[${hostname}]` : hostname}/`)?.hostname;
  const host = (read ?? "").replace(/^\[|\]$|\.+$/g, "");
  const open = isIP(host) ? isPublic(host) : isPublicName(host);
  return open ? null : `The host ${hostname} is not on the public internet.`;
}

/** A lookup that answers only public addresses. */
export function publicLookup(resolve: Resolve = resolveAll): LookupFunction {
  return guardedLookup({ allowPrivate: false }, resolve);
}

// A literal address never gets here: net.connect takes it as it is, and readReceiver has checked it.
function guardedLookup(options: Pick<OutgoingOptions, "allowPrivate">, resolve: Resolve): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname)
      .then((addresses) => {
        const open = options.allowPrivate ? addresses : addresses.filter((found) => isPublic(found.address));
        // The message names no address: it would reveal to a customer the answers of our own name servers.
        if (!open[0]) throw new AddressRefused(`The host ${hostname} has no address on the public internet.`);
        return [open, open[0]] as const;
      })
      .then(
        ([open, first]) => (all ? callback(null, open) : callback(null, first.address, first.family)),
        (error: Error) => callback(error, []),
      );
  };
}

// Only 2000::/3 is assigned to the internet; `range` calls every unnamed range unicast.
const OPEN_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");
// Azure's metadata service, at an address that looks public.
const METADATA = "168.63.129.16";

/** Whether the address is assigned to the internet: none of IANA's special registries names it. */
function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(OPEN_IPV6) : parsed.toString() !== METADATA;
}

const CLOSED_NAMES = /(^|\.)(localhost|local|internal|intranet|home\.arpa|onion)$/;

function isPublicName(host: string): boolean {
  return host.includes(".") && !CLOSED_NAMES.test(host);
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
