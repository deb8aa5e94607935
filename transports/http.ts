import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Catalog } from "#runtime/catalog.ts";
import { Fault, type FaultCode, toFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/invoke.ts";
import { WINDOW } from "#runtime/rate-limit.ts";
import { answerFault, rawAnswer } from "./answer.ts";
import { mountDiscovery } from "./discovery.ts";
import { type Gate, pass } from "./gate.ts";
import { mountImports } from "./imports.ts";
import { mcpFace } from "./mcp.ts";
import { mountUnsubscribe } from "./pages/unsubscribe.ts";
import { guarded, type Http, mountRest } from "./rest.ts";

/** The whole HTTP surface over one service. */
export function createApp(service: Service, catalog: Catalog, gate: Gate): Http {
  const app: Http = new Hono();
  mountImports(app, gate, service, catalog);
  mountRest(app, gate, service, catalog);
  const mcp = mcpFace(service, catalog);
  app.all(
    "/api/mcp",
    guarded(gate, async ({ c, call, frame }) => {
      if (call.actor.type === "anonymous") throw new Fault("missing_credential");
      return mcp.handle(c.req.raw, { call, frame });
    }),
  );
  mountDiscovery(app, gate, service, catalog);
  mountUnsubscribe(app, service, catalog);
  app.all(
    "/api/*",
    guarded(gate, async ({ c }) => {
      throw new Fault("not_found", { message: `Nothing answers at ${c.req.path}. See /api/openapi.json.` });
    }),
  );
  app.notFound((c) => c.json({ error: "Nothing answers here.", code: "not_found" }, 404));
  app.onError(async (error, c) => {
    const fault = toFault(error);
    service.log.error({ err: fault.cause ?? fault, path: c.req.path }, "request failed");
    const passage = await pass(gate, c.env.incoming);
    return answerFault(passage.frame, fault);
  });
  return app;
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

/** Listens for the app. Port 0 asks the system for a free one. */
export async function listen(app: Http, gate: Gate, host: string, port: number): Promise<Listening> {
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 15_000, keepAliveTimeout: 65_000 });
  server.on("request", getRequestListener(app.fetch as never));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const fault = new Fault(PARSER_FAULTS[error.code ?? ""] ?? "invalid", {
      ...(!PARSER_FAULTS[error.code ?? ""] && { message: "The request is not valid HTTP." }),
    });
    socket.end(rawAnswer(fault, gate.limiter.take(`ip:${socket.remoteAddress ?? "unknown"}`, WINDOW * 10)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), 10_000).unref();
      }),
  };
}
