import type { Service } from "#runtime/funnel/service.ts";
import { hearOn, type Line, openSoFar } from "#tools/providers/live-calls.ts";
import type { Heard } from "#tools/voice/engine/engine.ts";
import type { ReadSoFar } from "#tools/voice/engine/heard.ts";
import { secondsToSay } from "#tools/voice/engine/transcript.ts";
import type { CallPace } from "./pace.ts";
import { silenceTimer } from "./silence.ts";

/** Seconds of silence after which a person who spoke over us has finished. */
const PAUSE_SECONDS = 2;
/** A voice may begin so late that its last word would be cut off. */
const LATE_SECONDS = 2;

/** Our side of a WebSocket. */
interface Mouth {
  say(text: string): void;
  /** `isOurs`: the WebSocket has led the call, which is over. */
  end(isOurs: boolean): void;
  /** Does one thing after the other. */
  enqueue(task: () => Promise<void>): void;
}

/** One call, from its pick-up to its end. */
export interface Dialogue {
  begin(callSid: string): void;
  heard(heard: Heard): void;
  /** Words that are not finished. */
  part(text: string): void;
  hangUp(): void;
  /** The line broke. `note` is called where the call goes on without it. */
  breakOff(note: () => Promise<void>): void;
}

/**
 * Leads a call by the engine. Each step is stored before its words are said. Unfinished words count at once when they
 * are a stop however they go on, and else when nothing comes behind them.
 */
export function openDialogue(service: Service, line: Line, pace: CallPace, mouth: Mouth): Dialogue {
  const timer = silenceTimer();
  let callSid: string | undefined;
  let soFar: ReadSoFar | undefined;
  let unfinished: string | undefined;
  let over: "ended" | "refused" | undefined;

  const finish = (how: "ended" | "refused") => {
    over = how;
    timer.stop();
    mouth.end(how === "ended");
  };
  const step = async (heard: Heard) => {
    if (over === "refused" || (over && !isSaid(heard))) return;
    const { say, act } = await hearOn(service, line, heard, callSid);
    if (act === "refused") {
      service.log.warn({ sendId: line.sendId }, "a second WebSocket of a call was refused");
      return finish("refused");
    }
    if (act === "none") return timer.resume();
    if (act === "end") return finish("ended");
    for (const text of say) mouth.say(text);
    timer.start(waitFor(act, say, pace), () => mouth.enqueue(() => last({ kind: "silence" })));
  };
  const weighUnfinished = async () => {
    if (unfinished !== undefined) await step({ kind: "speech", text: unfinished });
    unfinished = undefined;
  };
  const last = async (heard: Heard) => {
    await weighUnfinished();
    await step(heard);
  };
  const hearPart = async (text: string) => {
    soFar ??= await openSoFar(service, line);
    const stops = soFar(text);
    unfinished = stops === "perhaps" ? text : undefined;
    if (stops === "surely") await step({ kind: "speech", text });
  };
  return {
    begin(sid) {
      callSid = sid;
      mouth.enqueue(() => step({ kind: "person" }));
    },
    heard(heard) {
      timer.pause();
      mouth.enqueue(() => {
        // The whole sentence stands for its parts.
        if (heard.kind === "speech") unfinished = undefined;
        return step(heard);
      });
    },
    part(text) {
      // A person who is still speaking is not silent.
      timer.refresh();
      mouth.enqueue(() => hearPart(text));
    },
    hangUp() {
      timer.stop();
      mouth.enqueue(() => last({ kind: "hung_up" }));
    },
    breakOff(note) {
      timer.stop();
      mouth.enqueue(async () => {
        await weighUnfinished();
        if (!over) await note();
      });
    },
  };
}

/** Words or keys of a person may be a stop, also while the end of the call is stored. */
function isSaid({ kind }: Heard): boolean {
  return kind === "speech" || kind === "keys";
}

/** Milliseconds to the end of a silence that means something. */
function waitFor(act: "listen" | "close" | "pause", say: readonly string[], pace: CallPace): number {
  if (act === "pause") return PAUSE_SECONDS * pace.secondMs;
  const words = say.reduce((sum, text) => sum + secondsToSay(text), 0);
  return act === "listen" ? words * pace.secondMs + pace.listenMs : (words + LATE_SECONDS) * pace.secondMs;
}
