import {
  type CompleteRequest,
  type CompleteResult,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  legacyStatelessFallback,
  PROTOCOL_VERSION_META_KEY,
  type ReadResourceResult,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { headersOf } from "#transports/http/answer.ts";
import { type McpFace, mcpFace } from "#transports/mcp/endpoint.ts";
import { readOptions } from "#transports/mcp/listing/options.ts";
import type { Machine } from "#transports/mcp/listing/visible-tools.ts";
import { surfaces } from "#transports/mcp/listing/visible-tools.ts";
import { type Exchange, serverMaker } from "#transports/mcp/server.ts";
import { WORKS } from "#transports/mcp/subscriptions/tasks.ts";
import { SLOW } from "./tasks.ts";
import { filledIn, PIXEL, present, STREAMING } from "./tools.ts";

/** The service's MCP face with all that the official conformance suite asks for beside its tools. */
export function conformanceFace(service: Service, catalog: Catalog): McpFace {
  const face = mcpFace(service, catalog, makerOf);
  const machine = { service, catalog, surfaces: surfaces(catalog) };
  const makeServer = makerOf(machine);
  return {
    ...face,
    handle: async (request, context) => {
      // Revisions before 2026-07-28 hear of progress by a stream alone, and no tool of the service tells of any.
      if (!(await callsStreaming(request.clone()))) return face.handle(request, context);
      const { call, frame } = context;
      const surface = machine.surfaces.of(call, readOptions(request, catalog, call.actor));
      const about = {
        modern: false,
        method: "tools/call",
        textOnly: false,
        views: false,
        listAsText: false,
        argumentsFlaw: null,
        idempotencyKey: undefined,
        replayed: false,
      };
      const stream = legacyStatelessFallback(() => makeServer({ call, surface, ...about }));
      const response = await stream(request);
      for (const [name, value] of Object.entries(headersOf(frame))) response.headers.set(name, value);
      return response;
    },
  };
}

const ToolCall = z.object({
  method: z.literal("tools/call"),
  params: z.object({ name: z.string(), _meta: z.record(z.string(), z.unknown()).optional() }),
});

async function callsStreaming(request: Request): Promise<boolean> {
  const { success, data } = ToolCall.safeParse(await request.json().catch(() => null));
  return success && STREAMING.has(data.params.name) && !data.params._meta?.[PROTOCOL_VERSION_META_KEY];
}

function makerOf(machine: Machine): (exchange: Exchange) => Server {
  const make = serverMaker(machine, [...WORKS, SLOW]);
  return (exchange) => {
    const server = make(exchange);
    around(server, "tools/call", async ({ params }, context, inner) =>
      present(params.name, await inner(), context),
    );
    around(server, "resources/list", async (_request, _context, inner) => {
      const own = await inner();
      return { ...own, resources: [...own.resources, ...RESOURCES] };
    });
    around(server, "resources/templates/list", async (_request, _context, inner) => {
      const own = await inner();
      return { ...own, resourceTemplates: [...own.resourceTemplates, ...TEMPLATES] };
    });
    around(server, "resources/read", async ({ params }, _context, inner) => read(params.uri) ?? inner());
    around(server, "prompts/list", async (_request, _context, inner) => {
      const own = await inner();
      return { ...own, prompts: [...own.prompts, ...PROMPTS] };
    });
    around(
      server,
      "prompts/get",
      async ({ params }, context, inner) => prompt(params.name, params.arguments ?? {}, context) ?? inner(),
    );
    around(server, "completion/complete", async ({ params }, _context, inner) => complete(params) ?? inner());
    return server;
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the SDK keeps its handlers without the types of their methods
type Handler = (request: any, context: ServerContext) => Promise<any>;

/** Puts a handler around the service's own, where this exchange has one. */
function around(
  server: Server,
  method: Parameters<Server["setRequestHandler"]>[0],
  // biome-ignore lint/suspicious/noExplicitAny: as above
  handler: (request: any, context: ServerContext, inner: () => Promise<any>) => Promise<any>,
): void {
  const own = (Reflect.get(server, "_requestHandlers") as Map<string, Handler>).get(method);
  if (own) {
    const outer: Handler = (request, context) => handler(request, context, () => own(request, context));
    server.setRequestHandler(method as "tools/call", outer as never);
  }
}

const written = (name: string, ...given: string[]) => ({
  name,
  description: name.replaceAll("_", " "),
  arguments: given.map((one) => ({ name: one, description: one, required: true })),
});
const user = (text: string) => ({ role: "user" as const, content: { type: "text" as const, text } });

const RESOURCES = [
  { uri: "test://static-text", name: "static-text", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "static-binary", mimeType: "image/png" },
];
const TEMPLATES = [
  { uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" },
];
const PROMPTS = [
  written("test_simple_prompt"),
  written("test_prompt_with_arguments", "arg1", "arg2"),
  written("test_prompt_with_embedded_resource", "resourceUri"),
  written("test_prompt_with_image"),
  written("test_input_required_result_prompt"),
];

function read(uri: string): ReadResourceResult | null {
  if (uri === "test://static-text") {
    const text = "This is the content of the static text resource.";
    return { contents: [{ uri, mimeType: "text/plain", text }] };
  }
  if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: PIXEL }] };
  const id = /^test:\/\/template\/(\w+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return null;
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: "application/json", text }] };
}

function complete({ ref }: CompleteRequest["params"]): CompleteResult | null {
  return ref.type === "ref/prompt" && ref.name === "test_prompt_with_arguments"
    ? { completion: { values: [], total: 0, hasMore: false } }
    : null;
}

function prompt(
  name: string,
  given: Readonly<Record<string, string>>,
  context: ServerContext,
): GetPromptResult | InputRequiredResult | null {
  if (name === "test_simple_prompt") return { messages: [user("This is a simple prompt for testing.")] };
  if (name === "test_prompt_with_arguments") {
    return { messages: [user(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`)] };
  }
  if (name === "test_prompt_with_image") {
    return {
      messages: [
        { role: "user", content: { type: "image", data: PIXEL, mimeType: "image/png" } },
        user("Please analyze the image above."),
      ],
    };
  }
  if (name === "test_prompt_with_embedded_resource") {
    const resource = {
      uri: String(given.resourceUri),
      mimeType: "text/plain",
      text: "Embedded resource content for testing.",
    };
    return {
      messages: [
        { role: "user", content: { type: "resource", resource } },
        user("Please process the embedded resource above."),
      ],
    };
  }
  if (name !== "test_input_required_result_prompt") return null;
  const said = filledIn(context, "user_context", "context");
  if (said) return { messages: [user(`Prompt with context: ${said}`)] };
  const message = "What context should the prompt use?";
  return inputRequired({
    inputRequests: {
      user_context: inputRequired.elicit({
        message,
        requestedSchema: {
          type: "object",
          properties: { context: { type: "string" } },
          required: ["context"],
        },
      }),
    },
  });
}
