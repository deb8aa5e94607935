import {
  createMcpHandler,
  isLegacyRequest,
  PROTOCOL_VERSION_META_KEY,
  type Server,
  type StandardSchemaV1Sync,
  specTypeSchemas,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { Fault, loggedFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Log } from "#runtime/log.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Call } from "#runtime/operation/context.ts";
import { answer, type Frame, headersOf } from "#transports/http/answer.ts";
import type { Machine } from "#transports/mcp/listing/visible-tools.ts";
import { hostFault, ownHosts } from "./hosts.ts";
import { REVISIONS } from "./identity.ts";
import { type Listening, lacksTasks, openListening } from "./listen.ts";
import { readOptions } from "./listing/options.ts";
import { surfaces } from "./listing/visible-tools.ts";
import { type Message, metaOf, methodOf, readMessage } from "./messages.ts";
import { declaresApps, listWithViews, showsViews } from "./resources/views.ts";
import { faultAnswer, INVALID_PARAMS, PARSE_ERROR, rpcError } from "./rpc-errors.ts";
import { type Exchange, serverMaker } from "./server.ts";
import { openedBy, remembered, sessionIn } from "./sessions.ts";
import { missingTasks } from "./subscriptions/tasks.ts";

export interface McpContext {
  /** The caller of the admitted request. */
  call: Call;
  frame: Frame;
  /** The body's JSON, if it is already parsed. */
  parsedBody?: unknown;
}

export interface McpFace {
  /** Answers one request to the MCP endpoint, in its own revision. Never throws. */
  handle(request: Request, context: McpContext): Promise<Response>;
  /** Ends the streams of all listeners. */
  close(): Promise<void>;
}

const OLDEST_REVISION = "2025-03-26";
const MOST_BATCHED = 10;
const EMPTY_LIST = '"tools":[]';
const UNSUPPORTED_VERSION = { code: -32_022, message: "Unsupported protocol version" };
const UNKNOWN_METHOD = { code: -32_601, message: "Method not found" };

/** Requests whose malformed params the SDK would report as an internal error. */
const REQUESTS = new Map<unknown, StandardSchemaV1Sync>([
  ["resources/read", specTypeSchemas.ReadResourceRequest],
  ["prompts/get", specTypeSchemas.GetPromptRequest],
  ["completion/complete", specTypeSchemas.CompleteRequest],
]);

/** The MCP face of a catalog: a new server object per request, over parts that are built once. */
export function mcpFace(service: Service, catalog: Catalog, makerOf = serverMaker): McpFace {
  const machine: Machine = { service, catalog, surfaces: surfaces(catalog) };
  const exchanges = new WeakMap<Request, Exchange>();
  const server = makerOf(machine);
  const hosts = ownHosts(service.config);
  const onerror = (error: Error) => service.log.debug({ err: error }, "mcp request refused");
  const modern = createMcpHandler(({ requestInfo }) => server(exchanges.get(requestInfo!)!), {
    legacy: "reject",
    onerror,
  });

  const listening = openListening(machine, server);
  const serve = async (request: Request, { call, frame, parsedBody }: McpContext): Promise<Response> => {
    const refused = hostFault(request, hosts, service.config) ?? methodFault(request);
    if (refused) throw refused;
    const surface = machine.surfaces.of(call, readOptions(request, catalog, call.actor));
    const { body, flaw, argumentsFlaw } = await messageOf(request, parsedBody);
    if (flaw) return faultAnswer(frame, flaw, body, body === undefined ? PARSE_ERROR : INVALID_PARAMS);
    refuseBatch(request, body);
    const method = methodOf(body);
    const carried = carriedBy(request, body);
    const opened = openedBy(body, declaresApps);
    const session = opened ?? sessionIn(request.headers);
    const exchange: Exchange = {
      call: { ...call, client: session.client },
      surface,
      // A claimed revision decides the protocol era, and saves the SDK one parse of the message.
      modern: claimsRevision(body) || !(await isLegacyRequest(carried, body)),
      textOnly: request.headers.get("mcp-protocol-version") === OLDEST_REVISION,
      method: Array.isArray(body) ? null : String(method),
      listAsText: method === "tools/list",
      views: showsViews(body, session),
      argumentsFlaw,
      idempotencyKey: request.headers.get("idempotency-key") ?? undefined,
      replayed: false,
    };
    const refusal = refusalOf(frame, request, body, exchange);
    if (refusal) return refusal;
    const list = exchange.listAsText ? listFor(exchange) : null;
    if (method === "subscriptions/listen")
      return answerListen(listening, { exchange, request: carried, body, frame, log: service.log });
    if (exchange.modern) {
      exchanges.set(carried, exchange);
      const answered = await modern.fetch(carried, { parsedBody: body });
      return framed(frame, marked(answered, exchange), list);
    }
    const answered = await serveLegacy(server(exchange), carried, body);
    return framed(frame, remembered(opened, marked(answered, exchange)), list);
  };

  return {
    close: listening.close,
    handle: async (request, context) => {
      try {
        return await serve(request, context);
      } catch (error) {
        const fault = loggedFault(service.log, error, { requestId: context.call.requestId });
        return faultAnswer(context.frame, fault, context.parsedBody);
      }
    },
  };
}

/** Of a batch, no header says which of its answers are recorded ones. */
function marked(response: Response, { replayed, method }: Exchange): Response {
  if (replayed && method !== null) response.headers.set("Idempotency-Replayed", "true");
  return response;
}

interface ListenCall {
  exchange: Exchange;
  request: Request;
  body: unknown;
  frame: Frame;
  log: Log;
}

function listFor({ surface, views }: Exchange): string {
  return views ? listWithViews(surface) : surface.listedJson;
}

async function answerListen(
  listening: Listening,
  { exchange, request, body, frame, log }: ListenCall,
): Promise<Response> {
  if (!exchange.modern) return rpcError(frame, 404, UNKNOWN_METHOD, body);
  if (lacksTasks(body)) {
    const { code, message, requiredCapabilities } = missingTasks();
    return rpcError(frame, 400, { code, message, data: { requiredCapabilities } }, body);
  }
  try {
    return await framed(frame, await listening.open(exchange, request, body), null);
  } catch (error) {
    return faultAnswer(frame, loggedFault(log, error, { requestId: frame.requestId }), body);
  }
}

/** The answer to a message that the SDK would not refuse in this way. */
function refusalOf(frame: Frame, request: Request, body: unknown, { modern }: Exchange): Response | null {
  const method = methodOf(body);
  // The revisions from 2026 on have no such method.
  if (method === "initialize" && !modern)
    return paramsRefusal(frame, body, specTypeSchemas.InitializeRequest);
  return (
    paramsRefusal(frame, body, REQUESTS.get(method)) ?? (modern ? null : versionRefusal(frame, request, body))
  );
}

/** The answer to a message of the 2025 revisions that names another revision. */
function versionRefusal(frame: Frame, request: Request, body: unknown): Response | null {
  const version = request.headers.get("mcp-protocol-version");
  if (version === null || REVISIONS.some((known) => known === version)) return null;
  const data = { supported: REVISIONS, requested: version.slice(0, 100) };
  return rpcError(frame, 400, { ...UNSUPPORTED_VERSION, data }, body);
}

async function serveLegacy(server: Server, request: Request, body: unknown): Promise<Response> {
  // A call that its own batch cancels gets no answer, and the request would wait for it.
  const parsedBody = Array.isArray(body)
    ? body.filter((one) => methodOf(one) !== "notifications/cancelled")
    : body;
  // The SDK answers every call of the 2025 revisions as a stream; this one answers JSON.
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody });
  } finally {
    void server.close().catch(() => {});
  }
}

/**
 * The parts of a request that the SDK reads when the body is parsed. It has no signal, which costs 80 of 195 µs: a
 * requested change is committed or rolled back whole, even if the client leaves.
 */
function carriedBy({ method, url, headers }: Request, body: unknown): Request {
  return { method, url, headers: withBothTypes(headers, body) } as Request;
}

/**
 * The SDK wants both types by name. A wildcard takes both, and so does a request without `Accept`; JSON alone takes
 * every answer of the 2025 revisions.
 */
function withBothTypes(headers: Headers, body: unknown): Headers {
  const accept = headers.get("accept") ?? "*/*";
  const takesJson = accept.includes("application/json");
  if (takesJson && accept.includes("text/event-stream")) return headers;
  if (!accept.includes("*/*") && !(takesJson && !claimsRevision(body))) return headers;
  const named = new Headers(headers);
  named.set("accept", "application/json, text/event-stream");
  return named;
}

/** The SDK's answer with our standard headers, and with the prepared list in place of the empty one. */
async function framed(frame: Frame, response: Response, list: string | null): Promise<Response> {
  if (list === null) {
    const { headers } = response;
    for (const [name, value] of Object.entries(headersOf(frame))) headers.set(name, value);
    return response;
  }
  const text = await response.text();
  return answer(
    frame,
    response.status,
    text.replace(EMPTY_LIST, () => `"tools":${list}`),
  );
}

/** Only one revision has batches. A batch counts as one request against the rate limit, so it holds few messages. */
function refuseBatch(request: Request, body: unknown): void {
  if (!Array.isArray(body)) return;
  const version = request.headers.get("mcp-protocol-version");
  if (version !== null && version !== OLDEST_REVISION) {
    throw new Fault("invalid", { message: `Batches are not part of revision ${version.slice(0, 20)}.` });
  }
  if (body.length > MOST_BATCHED) {
    throw new Fault("invalid", { message: `A batch holds at most ${MOST_BATCHED} messages.` });
  }
}

/** The answer to a request whose params are not those of its method. */
function paramsRefusal(frame: Frame, body: unknown, schema?: StandardSchemaV1Sync): Response | null {
  const issues = schema?.["~standard"].validate(body).issues;
  if (!issues) return null;
  const reasons = issues.map(({ path, message }) => `${path?.join(".")}: ${message}`);
  const message = `Invalid ${methodOf(body)} request: ${reasons.join("; ")}`;
  return rpcError(frame, 200, { code: INVALID_PARAMS, message }, body);
}

function methodFault({ method }: Request): Fault | null {
  if (method === "POST") return null;
  return new Fault("method_not_allowed", {
    message: "This endpoint keeps no session and no stream. Use POST.",
  });
}

function claimsRevision(body: unknown): boolean {
  return metaOf(body, PROTOCOL_VERSION_META_KEY) !== undefined;
}

function messageOf(request: Request, parsed: unknown): Promise<Message> | Message {
  return parsed === undefined ? readMessage(request) : { body: parsed, flaw: null, argumentsFlaw: null };
}
