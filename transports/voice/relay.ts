import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { withDeadline } from "#db/connection/open.ts";
import { isUuid } from "#db/text.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { callbackReader } from "#tools/providers/callbacks.ts";
import type { Line } from "#tools/providers/calls.ts";
import { converse } from "./conversation.ts";
import { CALL_PACE, type CallPace } from "./pace.ts";

/** The address of a call's WebSocket: its provider's callbacks, its send, and the secret part. */
const PATH = /^\/api\/callbacks\/([a-z-]+)\/([0-9a-f-]{36})\/([0-9a-f-]{36})\/(\d{10}\.[A-Za-z0-9_-]{43})$/;
const LONGEST_FRAME = 16_384;
const GOING_AWAY = 1001;
const LAST_WORDS_MS = 10_000;

/** Whether a path is that of a call's WebSocket. */
export function isCallAddress(path: string): boolean {
  return PATH.test(path);
}

/**
 * Serves the WebSockets of live calls. Answers the function that ends them, and waits until all that they have heard
 * is stored.
 */
export function serveCalls(
  server: Server,
  service: Service,
  pace: CallPace = CALL_PACE,
): () => Promise<void> {
  const conversations = new Set<Promise<void>>();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LONGEST_FRAME, clientTracking: true });
  const upgrade = async (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const line = await admitted(service, request).catch((error: unknown) => {
      service.log.error({ err: error }, "a call's WebSocket could not be checked");
      return 503 as const;
    });
    if (typeof line === "number") return refuse(stream, line);
    sockets.handleUpgrade(request, stream, head, (socket) => {
      const conversation = converse(service, line, socket, pace).finally(() =>
        conversations.delete(conversation),
      );
      conversations.add(conversation);
    });
  };
  server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on("error", () => stream.destroy());
    void upgrade(request, stream, head);
  });
  return async () => {
    for (const socket of sockets.clients) socket.close(GOING_AWAY);
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
    await withDeadline(Promise.all(conversations), LAST_WORDS_MS).catch(() => {});
  };
}

/** The line of a request that the carrier has signed, or the status of its refusal. */
async function admitted(service: Service, { url = "", headers }: IncomingMessage): Promise<Line | 401 | 404> {
  const [, kind, id, sendId, token] = PATH.exec(url) ?? [];
  if (!kind || !isUuid(id) || !isUuid(sendId) || !token) return 404;
  const reader = await callbackReader(service, kind, id).catch(() => null);
  const verify = reader?.callbacks.verifyRelay;
  if (!reader || !verify) return 404;
  const handshake = {
    url: `${service.config.baseUrl}${url}`,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    sendId,
    token,
    at: service.directory.now(),
  };
  if (verify(handshake)) return { reader, sendId };
  service.log.warn({ provider: id }, "a call's WebSocket with a wrong signature was refused");
  return 401;
}

const REASONS = { 401: "Unauthorized", 404: "Not Found", 503: "Service Unavailable" } as const;

function refuse(stream: Duplex, status: keyof typeof REASONS): void {
  // The other side may keep its half open for ever, and nobody else ends a connection that left HTTP.
  stream.once("finish", () => stream.destroy());
  stream.end(`HTTP/1.1 ${status} ${REASONS[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
