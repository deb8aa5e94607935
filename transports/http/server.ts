import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import { withDeadline } from "#db/connection/open.ts";
import { Fault, type FaultCode, loggedFault } from "#runtime/faults.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import { ADDRESS_LIMIT, type AdmissionControl } from "./admission.ts";
import { answerFault, rawAnswer, strangersFrame } from "./answer.ts";
import type { Http } from "./handlers.ts";
import { observed } from "./request-line.ts";

const PARSER_FAULTS: Record<string, FaultCode> = {
  HPE_HEADER_OVERFLOW: "header_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "too_large",
};

export interface Listening {
  server: Server;
  port: number;
  /** Finishes running requests, also those that their callers have left, takes no more, and closes. */
  close(): Promise<void>;
}

/** The address and the headers. A filter by the ids of a whole page of 1,000 has room. */
const MOST_HEADER_BYTES = 48 * 1024;
/** The interval at which idle connections are closed: one in use has its next request within it. */
const DRAIN_MS = 250;
const LAST_ANSWER_MS = 7_000;
/** A request ends by itself within this time. */
const LAST_WORK_MS = 5_000;

export interface ListenOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Whether a path takes requests to change the protocol. */
  upgrades(path: string): boolean;
  limits?: ConnectionLimits | undefined;
}

/** Serves the app. */
export async function listen(
  app: Http,
  control: AdmissionControl,
  { host, port, upgrades, limits = CONNECTION_LIMITS }: ListenOptions,
): Promise<Listening> {
  const server = createServer({
    // Enough for an upload of 200 MB over a slow line.
    requestTimeout: 600_000,
    headersTimeout: 15_000,
    maxHeaderSize: MOST_HEADER_BYTES,
    // Node looks every 30 s, so a slow sender would hold a connection for three times headersTimeout.
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 65_000,
    // Node's own refusal has no body; ours is JSON.
    requireHostHeader: false,
    // A request for another protocol, such as h2c, is answered by this one.
    shouldUpgradeCallback: ({ url }) => upgrades(url ?? ""),
  });
  const listener = getRequestListener(app.fetch as never, {
    errorHandler: (error) => {
      const frame = strangersFrame(control, control.limiter.take("ip:unknown", ADDRESS_LIMIT));
      const fault =
        error instanceof RequestError
          ? new Fault("invalid", { message: "The request's address or Host is not valid." })
          : loggedFault(control.log, error, { requestId: frame.requestId });
      return answerFault(frame, fault);
    },
  });
  let closing = false;
  const answering = new Set<Promise<void>>();
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (closing) response.shouldKeepAlive = false;
    const answer = listener(request, response).finally(() => answering.delete(answer));
    answering.add(answer);
  };
  const observe = observed(app, control.log, serve);
  server.on("request", observe);
  // RFC 9110 allows to ignore an unknown expectation.
  server.on("checkExpectation", observe);
  refuseStrangers(server, control, limits);
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
      // http's own close would cut idle connections at once, under requests that are on their way.
      NetServer.prototype.close.call(server);
      const draining = setInterval(() => server.closeIdleConnections(), DRAIN_MS);
      const cutting = setTimeout(() => server.closeAllConnections(), LAST_ANSWER_MS);
      await closed;
      clearInterval(draining);
      clearTimeout(cutting);
      await withDeadline(Promise.all(answering), LAST_WORK_MS).catch(() => {});
      // Stops http's timer for slow requests.
      server.close();
    },
  };
}

/** Answers connections that have no valid request, or do not bring it to its end, and ends them. */
function refuseStrangers(server: Server, control: AdmissionControl, limits: ConnectionLimits): void {
  const refuse = (socket: Socket, fault: Fault) => {
    const address = `ip:${networkOf(socket.remoteAddress ?? "unknown")}`;
    const frame = strangersFrame(control, control.limiter.take(address, ADDRESS_LIMIT));
    endConnection(socket, rawAnswer(frame, fault), limits);
  };
  if (control.trustProxy === 0) capConnections(server, limits);
  watchBodies(server, limits, ({ socket }) => refuse(socket, new Fault("request_timeout")));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const fault = new Fault(PARSER_FAULTS[error.code ?? ""] ?? "invalid", {
      ...(!PARSER_FAULTS[error.code ?? ""] && { message: "The request is not valid HTTP." }),
    });
    refuse(socket, fault);
  });
  server.on("connect", (_request, socket: Socket) => {
    const fault = new Fault("method_not_allowed", {
      message: "This server is not a proxy.",
      allow: ["GET", "POST"],
    });
    refuse(socket, fault);
  });
}

export interface ConnectionLimits {
  /** Connections that one network may have open. Behind a proxy all come from one address, and nothing is counted. */
  perNetwork: number;
  /** Milliseconds between a refusal and the end of its connection, if the other side does not end it first. */
  lingerMs: number;
  /** Milliseconds that a body may arrive at any pace; from then on the average has to be `leastPace`. */
  graceMs: number;
  /** Bytes a second. */
  leastPace: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  perNetwork: 1_000,
  lingerMs: 1_000,
  graceMs: 15_000,
  leastPace: 1_024,
};

const LOOK_EVERY_MS = 1_000;

/** Sends the last bytes of a connection, and ends it even if the other side keeps its half open. */
export function endConnection(socket: Duplex, text: string, { lingerMs }: ConnectionLimits): void {
  socket.end(text);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

/** Closes the connections of a network that has too many. */
function capConnections(server: Server, { perNetwork }: ConnectionLimits): void {
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "unknown");
    const count = (open.get(network) ?? 0) + 1;
    if (count > perNetwork) return void socket.destroy();
    open.set(network, count);
    socket.once("close", () => {
      const left = open.get(network)! - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  });
}

/** Calls `tooSlow` for each request whose body arrives too slowly. */
function watchBodies(
  server: Server,
  { graceMs, leastPace }: ConnectionLimits,
  tooSlow: (request: IncomingMessage) => void,
): void {
  const arriving = new Map<IncomingMessage, { at: number; read: number }>();
  server.on("request", (request: IncomingMessage) => {
    const { headers, socket } = request;
    if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
    arriving.set(request, { at: performance.now(), read: socket.bytesRead });
  });
  const look = () => {
    const now = performance.now();
    for (const [request, { at, read }] of arriving) {
      const late = now - at - graceMs;
      if (request.complete || request.socket.destroyed) arriving.delete(request);
      else if (late > 0 && request.socket.bytesRead - read < (late / 1000) * leastPace) {
        arriving.delete(request);
        tooSlow(request);
      }
    }
  };
  const looking = setInterval(look, Math.min(LOOK_EVERY_MS, graceMs));
  server.once("close", () => clearInterval(looking));
}
