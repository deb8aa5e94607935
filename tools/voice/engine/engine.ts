import type { CallScript, CallTurn } from "#runtime/channels/provider/call.ts";
import { type FixedPart, fixedSentence } from "./fixed-words.ts";
import { answeredTurn, asksWho, hasStopKey, type IsStop, isGreeting } from "./heard.ts";

/** How a call ended. `barred`: the gate closed before the person picked up. `dropped`: the line to us broke. */
export const OUTCOMES = {
  completed: "The call was said to its end.",
  opted_out: "The person stopped all calls, by key or by speech.",
  hung_up: "The person hung up.",
  voicemail_left: "A machine answered, and took the message.",
  voicemail_skipped: "A machine answered, and no message was left.",
  no_answer: "Nobody answered.",
  busy: "The line was busy.",
  failed: "The vendor could not make the call.",
  abandoned: "A person answered, and heard nothing from us in time.",
  barred: "A rule closed before the person picked up, so nothing was said.",
  time_up: "The call reached its longest time.",
  dropped: "The connection to the vendor broke in the call.",
} as const;
export type CallOutcome = keyof typeof OUTCOMES;

/** The turn's name that ends a call. */
export const END = "end";

/** An act of the other side. */
export type Heard =
  | { kind: "person" }
  | { kind: "machine" }
  | { kind: "silence" }
  | { kind: "hung_up" }
  | { kind: "time_up" }
  | { kind: "keys"; keys: string }
  | { kind: "speech"; text: string };

/** The engine's place in a call, as it is stored between two things that it hears. */
export interface CallState {
  phase: "ringing" | "talking" | "over";
  /** The turn that was said last. */
  turn: string | null;
  /** How often it was repeated. */
  repeats: number;
  /** Turns said so far. */
  said: number;
}

/** One sentence of ours: a fixed one, or a turn of the script. */
export interface Said {
  text: string;
  fixed: FixedPart | null;
  turn: string | null;
}

/** The next step: words, and then listening or the end. `stop`: consent is revoked before anything else happens. */
export interface Step {
  state: CallState;
  say: readonly Said[];
  act: "listen" | "hang_up" | "stop" | "none";
  outcome: CallOutcome | null;
}

export const RINGING: CallState = { phase: "ringing", turn: null, repeats: 0, said: 0 };

/** A script may lead in circles; a call does not go on for ever. */
const MOST_TURNS = 60;
const MOST_REPEATS = 1;

/**
 * The call's next step, from its place and what was heard: a pure function. What the law wants is said by this code,
 * whatever the script says: identification first, the way to stop second, a number before the end, nothing after a
 * stop, and no word to a machine but a whole message with a toll-free number.
 */
export function nextStep(call: CallScript, state: CallState, heard: Heard, isStop: IsStop): Step {
  if (state.phase === "over") return { state, say: [], act: "none", outcome: null };
  if (heard.kind === "hung_up")
    return over(state, "hang_up", state.phase === "ringing" ? "no_answer" : "hung_up");
  if (heard.kind === "machine") return leaveMessage(call, state);
  if (state.phase === "ringing") return heard.kind === "person" ? begin(call, state) : ignored(state);
  if (heard.kind === "person") return resume(call, state);
  if (heard.kind === "time_up") return end(call, state, [], "time_up");
  if (heard.kind === "silence") return again(call, state, turnOf(call, state)?.on_silence ?? null);
  return replied(call, state, "keys" in heard ? { keys: heard.keys } : { text: heard.text }, isStop);
}

type Reply = { keys: string } | { text: string };

/** Keys or words of a person. A stop goes before everything else. */
function replied(call: CallScript, state: CallState, reply: Reply, isStop: IsStop): Step {
  const stops = "keys" in reply ? hasStopKey(reply.keys) : isStop(reply.text);
  if (stops) return over(state, "stop", "opted_out");
  if ("text" in reply) {
    // Later in a call a person may speak of a voicemail.
    if (state.said <= 1 && isGreeting(reply.text)) return leaveMessage(call, state);
    if (asksWho(reply.text)) return identify(call, state);
  }
  return answered(call, state, reply);
}

function ignored(state: CallState): Step {
  return { state, say: [], act: "none", outcome: null };
}

function over(
  state: CallState,
  act: "hang_up" | "stop",
  outcome: CallOutcome,
  say: readonly Said[] = [],
): Step {
  return { state: { ...state, phase: "over" }, say, act, outcome };
}

function fixed(call: CallScript, part: FixedPart): Said {
  return { text: fixedSentence(call, part), fixed: part, turn: null };
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
    if (!turn || place.said >= MOST_TURNS) return end(call, place, say, "completed");
    say.push({ text: turn.say, fixed: null, turn: turn.id });
    place = { ...place, turn: turn.id, repeats: 0, said: place.said + 1 };
    if (turn.listen.length > 0) return { state: place, say, act: "listen", outcome: null };
    next = turn.next ?? END;
  }
}

function end(call: CallScript, state: CallState, say: readonly Said[], outcome: CallOutcome): Step {
  return over(state, "hang_up", outcome, [...say, fixed(call, "closing")]);
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
    return end(call, state, [], "completed");
  const say = [{ text: turn.say, fixed: null, turn: turn.id }];
  return {
    state: { ...state, repeats: state.repeats + 1, said: state.said + 1 },
    say,
    act: "listen",
    outcome: null,
  };
}

/** Begins anew behind a line that broke: who calls, how to stop it, and the turn that was under way. */
function resume(call: CallScript, state: CallState): Step {
  const before = [fixed(call, "identification"), fixed(call, "opt_out")];
  if (state.said >= MOST_TURNS) return end(call, state, before, "completed");
  return enter(call, state, state.turn ?? END, before);
}

/** Says once more whose call it is, and waits for the same answer. */
function identify(call: CallScript, state: CallState): Step {
  if (state.said >= MOST_TURNS) return end(call, state, [], "completed");
  const say = [fixed(call, "identification"), fixed(call, "opt_out")];
  return { state: { ...state, said: state.said + 1 }, say, act: "listen", outcome: null };
}

function leaveMessage(call: CallScript, state: CallState): Step {
  if (call.voicemail === null) return over(state, "hang_up", "voicemail_skipped");
  return over(state, "hang_up", "voicemail_left", [
    fixed(call, "identification"),
    { text: call.voicemail, fixed: null, turn: null },
    fixed(call, "voicemail_opt_out"),
  ]);
}
