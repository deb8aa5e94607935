import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "#runtime/limits/rate-limit.ts";

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
export function endConnection(socket: Socket, text: string, { lingerMs }: ConnectionLimits): void {
  socket.end(text);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

/** Closes the connections of a network that has too many. */
export function capConnections(server: Server, { perNetwork }: ConnectionLimits): void {
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
export function watchBodies(
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
