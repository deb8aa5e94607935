import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { withDeadline } from "#db/connection/open.ts";
import { isUuid } from "#db/text.ts";
import { Fault, loggedFault, toFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { callbackReader } from "#tools/providers/callbacks.ts";
import type { Line } from "#tools/providers/live-calls.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { rawAnswer } from "#transports/http/answer.ts";
import { callbackLimits } from "#transports/http/callback-limits.ts";
import { CONNECTION_LIMITS, endConnection } from "#transports/http/server.ts";
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
  control: AdmissionControl,
  pace: CallPace = CALL_PACE,
): () => Promise<void> {
  const conversations = new Set<Promise<void>>();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LONGEST_FRAME, clientTracking: true });
  const upgrade = async (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const [, kind = "", id = "", sendId = "", token = ""] = PATH.exec(request.url ?? "") ?? [];
    const limits = callbackLimits(control, request, id);
    let line: Line;
    try {
      limits.check();
      line = await admitted(service, request, { kind, id, sendId, token });
    } catch (error) {
      const fault = toFault(error);
      const frame = limits.refused(fault);
      loggedFault(service.log, fault, { provider: id, requestId: frame.requestId });
      return endConnection(stream, rawAnswer(frame, fault), CONNECTION_LIMITS);
    }
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

/** The line of a request that the carrier has signed. Throws `not_found`, `invalid_credential` or `unavailable`. */
async function admitted(
  service: Service,
  { url = "", headers }: IncomingMessage,
  { kind, id, sendId, token }: { kind: string; id: string; sendId: string; token: string },
): Promise<Line> {
  if (!isUuid(sendId)) throw new Fault("not_found");
  const reader = await callbackReader(service, kind, id);
  const verify = reader.callbacks.verifyRelay;
  if (!verify) throw new Fault("not_found");
  const handshake = {
    url: `${service.config.baseUrl}${url}`,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    sendId,
    token,
    at: service.directory.now(),
  };
  if (verify(handshake)) return { reader, sendId };
  service.log.warn({ provider: id }, "a call's WebSocket with a wrong signature was refused");
  throw new Fault("invalid_credential");
}
