import type { CallScript, CallTurn } from "#runtime/channels/provider/call.ts";
import { answeredTurn, asksWho, hasStopKey, type IsStop, isGreeting } from "./heard.ts";
import type { CallOutcome } from "./outcomes.ts";
import { fixed, leftUnheard, type Said } from "./said.ts";

/** The turn's name that ends a call. */
export const END = "end";

/** An act of the other side. `silence`: our words are said, and nothing follows. */
export type Heard =
  | { kind: "person" }
  | { kind: "machine" }
  | { kind: "silence" }
  | { kind: "hung_up" }
  | { kind: "time_up" }
  | { kind: "keys"; keys: string }
  | { kind: "speech"; text: string }
  /** The person spoke over us, and our voice fell silent behind these words. */
  | { kind: "cut_off"; spoken: string };

/** The engine's place in a call, as it is stored between two things that it hears. */
export interface CallState {
  /** `closing`: the last words are being said. */
  phase: "ringing" | "talking" | "closing" | "over";
  /** The turn that was said last. */
  turn: string | null;
  /** How often it was repeated. */
  repeats: number;
  /** Turns said so far. */
  said: number;
  /** Our last words. */
  words: readonly Said[];
  /** Those of these sentences that are repeated after the person's next silence. */
  owed: readonly Said[];
  /** How often they were cut short. */
  cuts: number;
  /** The outcome of a call whose last words are being said. */
  outcome: CallOutcome | null;
}

/** The next step. */
export interface Step {
  state: CallState;
  say: readonly Said[];
  /**
   * `listen`: say the words, and wait for an answer. `close`: say them, and then report silence. `pause`: let the person
   * finish. `stop`: consent is revoked before anything else happens.
   */
  act: "listen" | "close" | "pause" | "hang_up" | "stop" | "none";
  outcome: CallOutcome | null;
}

export const RINGING: CallState = {
  phase: "ringing",
  turn: null,
  repeats: 0,
  said: 0,
  words: [],
  owed: [],
  cuts: 0,
  outcome: null,
};

/** A script may lead in circles; a call does not go on for ever. */
const MOST_TURNS = 60;
const MOST_REPEATS = 1;
/** The most times that words of the law are repeated to a person who speaks over them. */
const MOST_CUTS = 2;

/**
 * The call's next step, from its place and the heard words: a pure function. This code says the sentences of the law,
 * with every script: identification first, the way to stop second, and a number before the end. After a stop it says
 * nothing. A machine gets a whole message with a toll-free number, or no word. A sentence of the law over which the
 * person spoke is said once more.
 */
export function nextStep(call: CallScript, state: CallState, heard: Heard, isStop: IsStop): Step {
  if (state.phase === "over") return ignored(state);
  if (heard.kind === "hung_up")
    return over(state, "hang_up", state.phase === "ringing" ? "no_answer" : "hung_up");
  if (heard.kind === "machine")
    return state.outcome === "voicemail_left" ? ignored(state) : leaveMessage(call, state);
  if (state.phase === "ringing") return heard.kind === "person" ? begin(call, state) : ignored(state);
  if (heard.kind === "person") return ignored(state);
  if (heard.kind === "time_up")
    return state.phase === "closing" ? hangUp(state) : end(call, state, "time_up");
  if (heard.kind === "cut_off") return cutOff(state, heard.spoken);
  if (heard.kind === "silence") return silent(call, state);
  return replied(call, state, "keys" in heard ? { keys: heard.keys } : { text: heard.text }, isStop);
}

type Reply = { keys: string } | { text: string };

/** Keys or words of a person. A stop goes before everything else. */
function replied(call: CallScript, state: CallState, reply: Reply, isStop: IsStop): Step {
  const stops = "keys" in reply ? hasStopKey(reply.keys) : isStop(reply.text);
  if (stops) return over(state, "stop", "opted_out");
  // Later in a call a person may speak of a voicemail.
  const isMachine = state.said <= 1 && "text" in reply && isGreeting(reply.text);
  if (isMachine && state.outcome !== "voicemail_left") return leaveMessage(call, state);
  // The person has not heard these words yet, so this cannot be an answer to them.
  if (state.owed.length > 0) return sayOwed(state);
  if ("text" in reply && asksWho(reply.text)) return identify(call, state);
  return state.phase === "closing" ? ignored(state) : answered(call, state, reply);
}

function silent(call: CallScript, state: CallState): Step {
  if (state.owed.length > 0) return sayOwed(state);
  if (state.phase === "closing") return hangUp(state);
  return again(call, state, turnOf(call, state)?.on_silence ?? null);
}

function ignored(state: CallState): Step {
  return { state, say: [], act: "none", outcome: null };
}

function over(state: CallState, act: "hang_up" | "stop", outcome: CallOutcome): Step {
  return { state: { ...state, phase: "over", words: [], owed: [] }, say: [], act, outcome };
}

function hangUp(state: CallState): Step {
  return over(state, "hang_up", state.outcome ?? "completed");
}

/** Says these words; a person who speaks over them gets those of the law once more. */
function saying(state: CallState, act: "listen" | "close", say: readonly Said[]): Step {
  return { state: { ...state, words: say, owed: [], cuts: 0 }, say, act, outcome: null };
}

function cutOff(state: CallState, spoken: string): Step {
  // The voice is silent already.
  if (state.owed.length > 0) return { state, say: [], act: "pause", outcome: null };
  const owed = state.cuts < MOST_CUTS ? leftUnheard(state.words, spoken) : [];
  const cuts = state.cuts + (owed.length > 0 ? 1 : 0);
  const act = owed.length > 0 || state.phase === "closing" ? "pause" : "listen";
  return { state: { ...state, owed, cuts }, say: [], act, outcome: null };
}

function sayOwed(state: CallState): Step {
  const { cuts, owed } = state;
  const step = saying(state, state.phase === "closing" ? "close" : "listen", owed);
  return { ...step, state: { ...step.state, cuts } };
}

function begin(call: CallScript, state: CallState): Step {
  const say = [fixed(call, "identification"), fixed(call, "opt_out")];
  return enter(call, { ...state, phase: "talking" }, call.turns[0]?.id ?? END, say);
}

/** Says a turn, and the turns behind it up to one that listens. */
function enter(call: CallScript, state: CallState, id: string, before: readonly Said[]): Step {
  let place = state;
  const say = [...before];
  for (let next: string = id; ; ) {
    const turn = call.turns.find((one) => one.id === next);
    if (!turn || place.said >= MOST_TURNS) return end(call, place, "completed", say);
    say.push({ text: turn.say, fixed: null, turn: turn.id });
    place = { ...place, turn: turn.id, repeats: 0, said: place.said + 1 };
    if (turn.listen.length > 0) return saying(place, "listen", say);
    next = turn.next ?? END;
  }
}

/** Says the last words, with the number. The call is over behind them. */
function end(call: CallScript, state: CallState, outcome: CallOutcome, before: readonly Said[] = []): Step {
  return saying({ ...state, phase: "closing", outcome }, "close", [...before, fixed(call, "closing")]);
}

function turnOf(call: CallScript, { turn }: CallState): CallTurn | undefined {
  return call.turns.find(({ id }) => id === turn);
}

function answered(call: CallScript, state: CallState, heard: Reply): Step {
  const turn = turnOf(call, state);
  if (!turn) return ignored(state);
  const next = answeredTurn(turn, heard);
  return next === null ? again(call, state, turn.on_other) : enter(call, state, next, []);
}

/** The turn that the script names, or the same turn once more, or the end. */
function again(call: CallScript, state: CallState, next: string | null): Step {
  if (next !== null) return enter(call, state, next, []);
  const turn = turnOf(call, state);
  if (!turn || state.repeats >= MOST_REPEATS || state.said >= MOST_TURNS)
    return end(call, state, "completed");
  const place = { ...state, repeats: state.repeats + 1, said: state.said + 1 };
  return saying(place, "listen", [{ text: turn.say, fixed: null, turn: turn.id }]);
}

/** Says once more whose call it is, and goes on where the call was. */
function identify(call: CallScript, state: CallState): Step {
  const say = [fixed(call, "identification"), fixed(call, "opt_out")];
  const place = { ...state, said: state.said + 1 };
  if (state.phase === "closing") {
    return state.said < MOST_TURNS ? end(call, place, state.outcome ?? "completed", say) : ignored(state);
  }
  if (state.said >= MOST_TURNS) return end(call, state, "completed");
  return saying(place, "listen", say);
}

function leaveMessage(call: CallScript, state: CallState): Step {
  if (call.voicemail === null) return over(state, "hang_up", "voicemail_skipped");
  return saying({ ...state, phase: "closing", outcome: "voicemail_left" }, "close", [
    fixed(call, "identification"),
    { text: call.voicemail, fixed: null, turn: null },
    fixed(call, "voicemail_opt_out"),
  ]);
}
