import type { WebSocket } from "ws";
import type { Service } from "#runtime/funnel/service.ts";
import { breakLine, hearOn, type Line } from "#tools/providers/calls.ts";
import type { Heard } from "#tools/voice/engine/engine.ts";
import { secondsToSay } from "#tools/voice/engine/transcript.ts";
import { LISTEN_SECONDS } from "#tools/voice/problems.ts";
import { END_FRAME, readFrame, textFrame } from "./frames.ts";
import { openingOfCall } from "./opening.ts";

/** How fast a call goes. */
export interface CallPace {
  /** Milliseconds that a voice needs for a second's words. */
  secondMs: number;
  /** Milliseconds of silence after our words. */
  listenMs: number;
}

export const CALL_PACE: CallPace = { secondMs: 1_000, listenMs: LISTEN_SECONDS * 1_000 };

/** More waiting frames than a person can cause. */
const MOST_WAITING = 100;
/** 1005: closed in order, without a code. */
const NORMAL = new Set([1000, 1001, 1005]);

/** Speaks with one WebSocket until the call is over. Each step is stored before its words are said. */
export function converse(service: Service, line: Line, socket: WebSocket, pace: CallPace): void {
  const { log } = service;
  let callSid: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let waiting = 0;
  let isOver = false;
  let work = Promise.resolve();
  const opening = openingOfCall();

  const later = (ms: number, then: () => void) => {
    clearTimeout(timer);
    timer = setTimeout(then, ms);
    timer.unref();
  };
  const step = async (heard: Heard) => {
    // Over our last words a person may still stop all calls.
    if (isOver && heard.kind !== "keys" && heard.kind !== "speech") return;
    if (!isOver) clearTimeout(timer);
    const { say, act, opening: sentences } = await hearOn(service, line, heard, callSid);
    if (act === "none") return;
    if (act === "end") isOver = true;
    for (const text of say) if (socket.readyState === socket.OPEN) socket.send(textFrame(text));
    const seconds = say.reduce((sum, text) => sum + secondsToSay(text), 0);
    opening.says(sentences);
    if (act === "end") later(seconds * pace.secondMs, () => hangUp(socket));
    else later(seconds * pace.secondMs + pace.listenMs, () => enqueue({ kind: "silence" }));
  };
  const enqueue = (heard: Heard) => {
    waiting += 1;
    work = work
      .then(() => step(heard))
      .catch((error: unknown) => {
        log.error({ err: error, sendId: line.sendId }, "a step of a call failed");
        socket.close(1011);
      })
      .finally(() => {
        waiting -= 1;
      });
  };

  socket.on("message", (data, isBinary) => {
    const arrived = isBinary ? null : readFrame(String(data));
    if (!arrived || waiting > MOST_WAITING) return socket.close(1008);
    if ("setup" in arrived) {
      callSid ??= arrived.setup;
      enqueue({ kind: "person" });
    } else if ("heard" in arrived && callSid !== undefined) enqueue(arrived.heard);
    else if ("spokenUntil" in arrived && opening.mustRepeat(arrived.spokenUntil)) enqueue({ kind: "person" });
    // A person who is still speaking is not silent.
    else if ("part" in arrived) timer?.refresh();
  });
  socket.on("error", () => socket.terminate());
  socket.on("close", (code) => {
    clearTimeout(timer);
    if (isOver || callSid === undefined) return;
    if (NORMAL.has(code)) return enqueue({ kind: "hung_up" });
    work = work
      .then(() => (isOver ? undefined : breakLine(service, line)))
      .catch((error: unknown) => {
        log.error({ err: error, sendId: line.sendId }, "a broken line was not noted");
      });
  });
}

function hangUp(socket: WebSocket): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.send(END_FRAME);
  socket.close(1000);
}
