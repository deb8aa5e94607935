import type { WebSocket } from "ws";
import type { Service } from "#runtime/funnel/service.ts";
import { breakLine, type Line } from "#tools/providers/live-calls.ts";
import { openDialogue } from "./dialogue.ts";
import { type Arrived, END_FRAME, readFrame, textFrame } from "./frames.ts";
import type { CallPace } from "./pace.ts";

/** A carrier names its call at once. */
const SETUP_MS = 10_000;
/** More waiting frames than a person can cause. */
const MOST_WAITING = 100;
/** 1005: closed in order, without a code. */
const NORMAL = new Set([1000, 1001, 1005]);
const DONE = 1000;
const POLICY_VIOLATION = 1008;
const FAILED = 1011;

/**
 * Speaks with one WebSocket until the call is over, one thing after another. Only the WebSocket that has
 * opened the call is heard about it. Resolves when all that was heard is stored.
 */
export async function converse(
  service: Service,
  line: Line,
  socket: WebSocket,
  pace: CallPace,
): Promise<void> {
  const { log } = service;
  let isNamed = false;
  let waiting = 0;
  let work = Promise.resolve();
  const enqueue = (task: () => Promise<void>) => {
    waiting += 1;
    work = work
      .then(task)
      .catch((error: unknown) => {
        log.error({ err: error, sendId: line.sendId }, "a step of a call failed");
        socket.close(FAILED);
      })
      .finally(() => {
        waiting -= 1;
      });
  };
  const isOpen = () => socket.readyState === socket.OPEN;
  const dialogue = openDialogue(service, line, pace, {
    say: (text) => isOpen() && socket.send(textFrame(text)),
    end: (isOurs) => {
      if (isOurs && isOpen()) socket.send(END_FRAME);
      socket.close(isOurs ? DONE : POLICY_VIOLATION);
    },
    enqueue,
  });
  const arrive = (arrived: Arrived) => {
    if ("setup" in arrived && !isNamed) {
      isNamed = true;
      clearTimeout(nameless);
      dialogue.begin(arrived.setup);
    }
    if (!isNamed) return;
    if ("part" in arrived) dialogue.part(arrived.part);
    if ("heard" in arrived) dialogue.heard(arrived.heard);
  };
  const nameless = setTimeout(() => socket.close(POLICY_VIOLATION), SETUP_MS).unref();
  socket.on("message", (data, isBinary) => {
    const arrived = isBinary ? null : readFrame(String(data));
    if (!arrived || waiting > MOST_WAITING) return socket.close(POLICY_VIOLATION);
    arrive(arrived);
  });
  // A frame that is too long is one of them: the WebSocket closes by itself, with the code that says so.
  socket.on("error", (error) => log.warn({ err: error, sendId: line.sendId }, "a call's WebSocket failed"));
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  socket.on("close", resolve);
  const code = await closed;
  clearTimeout(nameless);
  if (isNamed && NORMAL.has(code)) dialogue.hangUp();
  else if (isNamed) dialogue.breakOff(() => breakLine(service, line));
  await work;
}
