import type { CallScript } from "#runtime/channels/provider/call.ts";
import { type Heard, nextStep, RINGING } from "#tools/voice/engine/engine.ts";
import type { IsStop } from "#tools/voice/engine/heard.ts";
import type { CallOutcome } from "#tools/voice/engine/outcomes.ts";
import { secondsToSay, stepLines, type TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { lastReplyOf, type Persona, pickUp, replyOf } from "./personas.ts";

/** A call that nobody made: the engine spoke with a persona. */
export interface SimulatedCall {
  outcome: CallOutcome;
  answered_by: "human" | "machine" | null;
  seconds: number;
  transcript: TranscriptLine[];
}

/** Seconds of an answer. */
const ANSWER_SECONDS = 3;

/** Plays a call with a persona, by the same engine that speaks with people. */
export function simulateCall(call: CallScript, persona: Persona, isStop: IsStop): SimulatedCall {
  const first = pickUp(persona);
  if (!first) return { outcome: "no_answer", answered_by: null, seconds: 0, transcript: [] };
  const transcript: TranscriptLine[] = [];
  let at = 0;
  let state = RINGING;
  let heard: Heard = first;
  for (let count = 0; ; count += 1) {
    const step = nextStep(call, state, heard, isStop);
    state = step.state;
    transcript.push(...stepLines(heard, step, transcript.length, at));
    at += step.say.reduce((sum, { text }) => sum + secondsToSay(text), 0);
    if (step.outcome !== null) {
      const answered_by = first.kind === "machine" ? "machine" : "human";
      return { outcome: step.outcome, answered_by, seconds: at, transcript };
    }
    const turn = call.turns.find(({ id }) => id === state.turn);
    heard = step.act === "listen" && turn ? replyOf(persona, turn, count) : lastReplyOf(persona);
    if (step.act === "listen") at += ANSWER_SECONDS;
  }
}
