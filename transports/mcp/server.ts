import {
  CLIENT_INFO_META_KEY,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Transport,
} from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { z } from "zod";
import { type Fault, loggedFault } from "#runtime/faults.ts";
import type { Call } from "#runtime/operation/context.ts";
import type { Machine } from "#transports/mcp/listing/visible-tools.ts";
import { maskedResult } from "./answers/masking.ts";
import { isRecord, type ToolResult } from "./answers/results.ts";
import { withTable } from "./answers/text-tables.ts";
import { callTool } from "./calls/call-tool.ts";
import { NAME, REVISIONS, TITLE, VERSION } from "./identity.ts";
import type { Surface } from "./listing/visible-tools.ts";
import { complete, getPrompt, listPrompts } from "./resources/prompts.ts";
import { listResources, listTemplates, type ResourceRequest, readResource } from "./resources/resources.ts";
import { APPS, readView, viewResources } from "./resources/views.ts";
import { shownName } from "./sessions.ts";
import {
  knowsTasks,
  missingTasks,
  PROPOSED,
  startedTask,
  TASK_METHODS,
  TASKS,
  WORKS,
  type Work,
} from "./subscriptions/tasks.ts";

/** One request on its way through the SDK. */
export interface Exchange {
  call: Call;
  surface: Surface;
  /** The client speaks 2026-07-28 or later, which has extensions. */
  modern: boolean;
  /** The client speaks 2025-03-26, which has no structured content. */
  textOnly: boolean;
  /** The method of the request; null for a batch, which may contain any. */
  method: string | null;
  /** The answer gets the list as prepared text, so the SDK carries only an empty one. */
  listAsText: boolean;
  /** The client shows views. */
  views: boolean;
  /** The fault of the called tool's arguments. */
  argumentsFlaw: Fault | null;
  /** The request's Idempotency-Key header. */
  idempotencyKey: string | undefined;
  /** Whether the answer is the recorded one of its key. */
  replayed: boolean;
}

const LIST_TTL = 300_000;
const LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/** The notifications of subscriptions/listen, which earlier revisions do not have. */
const MODERN_CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  extensions: { [TASKS]: {}, [APPS]: {} },
};

/** Makes the server object of one exchange, from parts that are made once. */
export function serverMaker(
  machine: Machine,
  works: readonly Work[] = WORKS,
): (exchange: Exchange) => Server {
  const info = { name: NAME, title: TITLE, version: VERSION };
  const domains = machine.catalog.toolsets;
  const workOf = new Map(works.flatMap((work) => work.starts.map((name) => [name, work])));
  const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} };
  const options = {
    capabilities,
    supportedProtocolVersions: [...REVISIONS],
    jsonSchemaValidator: new AjvJsonSchemaValidator(),
    cacheHints: Object.fromEntries(
      LISTS.map((method) => [method, { ttlMs: LIST_TTL, cacheScope: "private" as const }]),
    ),
    instructions: `Player marketing for one casino property: ${domains.map(({ title }) => title).join(", ")}. The property follows from your key. Lists page with cursor. Give every write an idempotency_key. A call that reaches people, cannot be taken back or weakens a protection is shown first; the same call with its confirm_token does it. Read docs://guide first.`,
  };
  const viewOptions = { ...options, capabilities: { ...capabilities, extensions: { [APPS]: {} } } };
  const modernOptions = { ...options, capabilities: { ...capabilities, ...MODERN_CAPABILITIES } };
  return (exchange) => {
    const { call, surface, modern, textOnly, method, listAsText, views, argumentsFlaw } = exchange;
    const server = new OneAnswerServer(info, modern ? modernOptions : views ? viewOptions : options);
    const reading = { machine, surface, call: { ...call, transport: "mcp" as const } };
    if (method === null || BESIDE_TOOLS.test(method)) addPages(server, reading, views);
    if (modern && method !== null && Object.hasOwn(TASK_METHODS, method)) addTasks(server, reading, works);
    server.setRequestHandler("tools/list", () => ({ tools: listAsText ? [] : [...surface.listed] }) as never);
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const result = await callTool(
        machine,
        surface,
        { ...call, transport: "mcp", masked: surface.masked, client: clientOf(call, context) },
        {
          name: params.name,
          input: params.arguments ?? {},
          flaw: argumentsFlaw,
          keys: [params._meta?.["idempotency-key"], exchange.idempotencyKey],
          context,
        },
      );
      exchange.replayed = isRecord(result.structuredContent) && result.structuredContent.replayed === true;
      const shown = surface.masked ? maskedResult(result) : result;
      const work = isProposed(shown) ? PROPOSED : workOf.get(calledTool(params));
      const task = work && modern && knowsTasks(context) && (await startedTask(reading, work, shown));
      return task || (textOnly ? withTable(shown) : shown);
    });
    return server;
  };
}

/**
 * A server that sends its client no requests, and is dropped after its answer. The SDK's own close would make an error
 * with a stack for pending requests: 10 of 110 µs.
 */
class OneAnswerServer extends Server {
  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport);
    transport.onclose = () => this.onclose?.();
  }
}

const BESIDE_TOOLS = /^(?:resources|prompts|completion)\//;

/**
 * Resources, prompts and completion: registered only for their own requests, because each handler costs a list its
 * time.
 */
function addPages(server: Server, reading: ResourceRequest, views: boolean): void {
  const { surface } = reading;
  server.setRequestHandler("resources/list", () => ({
    resources: [...listResources(surface), ...(views ? viewResources(surface) : [])],
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: listTemplates(surface),
  }));
  server.setRequestHandler(
    "resources/read",
    ({ params }) => readView(surface, params.uri) ?? asProtocol(reading, readResource(reading, params.uri)),
  );
  server.setRequestHandler("prompts/list", () => ({ prompts: listPrompts(surface) }));
  server.setRequestHandler("prompts/get", ({ params }) =>
    getPrompt(surface, params.name, params.arguments ?? {}),
  );
  server.setRequestHandler("completion/complete", ({ params }) =>
    asProtocol(reading, complete(reading, params)),
  );
}

const TaskParams = z.looseObject({ taskId: z.string() });

function addTasks(server: Server, reading: ResourceRequest, works: readonly Work[]): void {
  for (const [method, run] of Object.entries(TASK_METHODS)) {
    server.setRequestHandler(method, { params: TaskParams }, ({ taskId }, context) => {
      if (!knowsTasks(context)) throw missingTasks();
      const call = { ...reading.call, client: clientOf(reading.call, context) };
      return asProtocol(reading, run({ ...reading, call }, works, taskId));
    });
  }
}

function isProposed(result: ToolResult): boolean {
  return (
    !isInputRequiredResult(result) &&
    PROPOSED.recordIn((result.structuredContent ?? {}) as Record<string, unknown>) !== undefined
  );
}

/** The name of the called tool, also inside call_tool. */
function calledTool({
  name,
  arguments: given,
}: {
  name: string;
  arguments?: Record<string, unknown> | undefined;
}) {
  return name === "call_tool" ? String(given?.name) : name;
}

/** A fault as an error of the protocol. */
async function asProtocol<T>({ machine, call }: ResourceRequest, answering: Promise<T>): Promise<T> {
  try {
    return await answering;
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const fault = loggedFault(machine.service.log, error, { requestId: call.requestId });
    const code = fault.status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
    throw new ProtocolError(code, fault.message, { code: fault.code });
  }
}

/** The agent's name: from the request's envelope, in older revisions from its session, or else from its User-Agent. */
function clientOf(call: Call, { mcpReq }: ServerContext): string | undefined {
  const info = (mcpReq.envelope as Record<string, { name?: unknown }> | undefined)?.[CLIENT_INFO_META_KEY];
  if (typeof info?.name === "string") return shownName(info.name);
  return call.client ?? shownName(call.userAgent?.split(/[\s/]/)[0] ?? "");
}
