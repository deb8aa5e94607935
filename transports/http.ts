import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { Hono } from "hono";
import type { Catalog } from "#runtime/catalog.ts";
import { toToldFault } from "#runtime/failures.ts";
import { Fault, type FaultCode } from "#runtime/faults.ts";
import type { Service } from "#runtime/invoke.ts";
import { networkOf } from "#runtime/rate-limit.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { answerFault, rawAnswer } from "./answer.ts";
import { mountCallbacks } from "./callbacks.ts";
import { mountDiscovery } from "./discovery.ts";
import { ADDRESS_LIMIT, type Gate, pass } from "./gate.ts";
import { guarded, type Http } from "./guarded.ts";
import { mountImports } from "./imports.ts";
import { mountJobRows } from "./job-rows.ts";
import type { McpFace } from "./mcp.ts";
import { PATH } from "./mcp-identity.ts";
import { mountDocs } from "./pages/docs.ts";
import { mountHome } from "./pages/home.ts";
import type { OpenCounter } from "./pages/opens.ts";
import { mountPasswordReset } from "./pages/password-reset.ts";
import { mountPreferences } from "./pages/preferences.ts";
import { mountTracking } from "./pages/tracking.ts";
import { mountUnsubscribe } from "./pages/unsubscribe.ts";
import { mountRest } from "./rest.ts";

/** The whole HTTP surface over one service. */
export function createApp(
  service: Service,
  catalog: Catalog,
  gate: Gate,
  { opens, mcp }: { opens: OpenCounter; mcp: McpFace },
): Http {
  const app: Http = new Hono();
  mountImports(app, gate, service, catalog);
  mountJobRows(app, gate, service, catalog);
  mountRest(app, gate, service, catalog);
  mountCallbacks(app, gate, service);
  // RFC 9728: the metadata that a refusal leads to is of the very address that was asked.
  const mcpGate = { ...gate, metadataUrl: gate.metadataUrl + PATH };
  app.all(
    PATH,
    guarded(mcpGate, async ({ c, call, frame }) => {
      if (call.actor.type === "anonymous") throw new Fault("missing_credential");
      return mcp.handle(c.req.raw, { call, frame });
    }),
  );
  mountDiscovery(app, gate, service, catalog);
  mountUnsubscribe({ app, gate, service, catalog });
  mountPreferences({ app, gate, service, catalog });
  mountTracking(app, gate, service, opens);
  mountPasswordReset(app, gate, service, catalog);
  mountDocs(app);
  mountHome(app);
  app.notFound(guarded(gate, async ({ c }) => unanswered(app, c.req.path)));
  app.onError(async (error, c) => {
    const { frame } = await pass(gate, c.env.incoming);
    const { requestId } = frame;
    return answerFault(frame, toToldFault(service.log, error, { path: c.req.path, requestId }));
  });
  return app;
}

const METHODS = ["GET", "POST", "PATCH", "DELETE"];

/** Throws why nobody answers: at this address nothing does, or not to this method. */
function unanswered(app: Http, path: string): never {
  const answered = METHODS.filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => route.method === method),
  );
  if (answered.length === 0) {
    throw new Fault("not_found", { message: `Nothing answers at ${path}. See /api/openapi.json.` });
  }
  throw new Fault("method_not_allowed", {
    message: `Use ${answered.join(" or ")} here.`,
    allow: answered,
  });
}

/** Answers where there is no request that could be: on the connection itself, which ends. */
function refuse({ limiter }: Gate, socket: Socket, fault: Fault): void {
  socket.end(
    rawAnswer(fault, limiter.take(`ip:${networkOf(socket.remoteAddress ?? "unknown")}`, ADDRESS_LIMIT)),
  );
}

const PARSER_FAULTS: Record<string, FaultCode> = {
  HPE_HEADER_OVERFLOW: "header_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "too_large",
};

export interface Listening {
  server: Server;
  port: number;
  /** Answers what runs, refuses what comes, closes. */
  close(): Promise<void>;
}

/** A connection that is in use has its next request within this time. */
const DRAIN_MS = 250;
const LAST_ANSWER_MS = 10_000;

/** Listens for the app. Port 0 asks the system for a free one. */
export async function listen(app: Http, gate: Gate, host: string, port: number): Promise<Listening> {
  const server = createServer({
    // An upload of 200 MB over a slow line.
    requestTimeout: 600_000,
    headersTimeout: 15_000,
    // Node looks every 30 s, and would let a slow sender hold a connection for three times as long.
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 65_000,
    // Node's own refusal has no body; ours is JSON.
    requireHostHeader: false,
  });
  const anyone = () => gate.limiter.take("ip:unknown", ADDRESS_LIMIT);
  const listener = getRequestListener(app.fetch as never, {
    errorHandler: (error) => {
      const requestId = randomUUID();
      const { metadataUrl } = gate;
      const fault =
        error instanceof RequestError
          ? new Fault("invalid", { message: "The request's address or Host is not valid." })
          : toToldFault(gate.log, error, { requestId });
      return answerFault({ requestId, version: CURRENT_VERSION, allowance: anyone(), metadataUrl }, fault);
    },
  });
  let closing = false;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (closing) response.shouldKeepAlive = false;
    void listener(request, response);
  };
  server.on("request", serve);
  // An expectation that we do not know is passed over, as RFC 9110 allows.
  server.on("checkExpectation", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const fault = new Fault(PARSER_FAULTS[error.code ?? ""] ?? "invalid", {
      ...(!PARSER_FAULTS[error.code ?? ""] && { message: "The request is not valid HTTP." }),
    });
    refuse(gate, socket, fault);
  });
  server.on("connect", (_request, socket: Socket) => {
    const fault = new Fault("method_not_allowed", { message: "This is no proxy.", allow: ["GET", "POST"] });
    refuse(gate, socket, fault);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close: async () => {
      closing = true;
      const closed = once(server, "close");
      // Not http's own close: it cuts idle connections at once, under requests that are on their way.
      NetServer.prototype.close.call(server);
      const draining = setInterval(() => server.closeIdleConnections(), DRAIN_MS);
      const cutting = setTimeout(() => server.closeAllConnections(), LAST_ANSWER_MS);
      await closed;
      clearInterval(draining);
      clearTimeout(cutting);
      // Ends http's own watch over slow requests.
      server.close();
    },
  };
}
