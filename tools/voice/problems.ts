import type { FaultDetail } from "#runtime/faults.ts";
import { END } from "./engine/engine.ts";
import { STOP_KEY } from "./engine/fixed-words.ts";
import type { IsStop } from "./engine/heard.ts";
import { secondsToSay } from "./engine/transcript.ts";
import { readCallbackNumber } from "./numbers.ts";
import type { ScriptTurn, VoiceScript } from "./script.ts";

/** The facts that a script is checked against. */
export interface ScriptRules {
  defaultCountry: string;
  mostSeconds: number;
  isStop: IsStop;
}

/** Seconds that a turn waits for an answer. */
export const LISTEN_SECONDS = 8;
/** About the time of the fixed sentences. */
const FIXED_SECONDS = 20;
/** A screen of words: nobody listens to more at once. */
const MOST_TURN_SECONDS = 60;

/** All faults of a script, each with its turn and its remedy. */
export function scriptProblems(script: VoiceScript, rules: ScriptRules): FaultDetail[] {
  const turns = script.turns ?? [];
  return [
    ...numberProblems(script, rules),
    ...formProblems(script),
    ...turns.flatMap((turn, index) => turnProblems(turns, turn, index, rules)),
    ...reachProblems(turns),
    ...lengthProblems(turns, rules),
  ];
}

function numberProblems(
  { callback_number, on_voicemail }: VoiceScript,
  { defaultCountry }: ScriptRules,
): FaultDetail[] {
  const number = readCallbackNumber(callback_number, defaultCountry);
  const field = "callback_number";
  if (!number)
    return [
      {
        field,
        message: "is no telephone number. Give the number that people may call back, such as +18005550100",
      },
    ];
  if (number.isPremium) {
    const message =
      "is a number of a premium rate, which no call may tell (47 CFR 64.1200(b)(2)). Give a toll-free or an ordinary one";
    return [{ field, message }];
  }
  if (on_voicemail === undefined || number.isTollFree) return [];
  const message =
    "is not toll-free, and a message on a voicemail needs a toll-free number. Give one, or remove on_voicemail";
  return [{ field, message }];
}

function formProblems({ turns, instructions }: VoiceScript): FaultDetail[] {
  if ((turns === undefined) !== (instructions === undefined)) return [];
  return [
    turns === undefined
      ? { field: "turns", message: "are missing. Give turns, or instructions for a vendor's agent" }
      : { field: "instructions", message: "stand beside turns. Keep one of them" },
  ];
}

function turnProblems(
  turns: readonly ScriptTurn[],
  turn: ScriptTurn,
  index: number,
  { isStop }: ScriptRules,
): FaultDetail[] {
  const at = (part: string) => `turns[${index}].${part}`;
  const problems: FaultDetail[] = [];
  const add = (part: string, message: string) => problems.push({ field: at(part), message });
  if (turn.id === END) add("id", `is ${END}, which means the end of the call. Give the turn another id`);
  if (turns.findIndex(({ id }) => id === turn.id) < index)
    add("id", `is ${turn.id} twice. Give one turn another id`);
  const known = (id: string | undefined) =>
    id === undefined || id === END || turns.some((one) => one.id === id);
  for (const part of ["next", "on_silence", "on_other"] as const) {
    if (!known(turn[part]))
      add(part, `names the turn ${turn[part]}, which is not there. Add the turn, or write ${END}`);
  }
  const listens = (turn.listen?.length ?? 0) > 0;
  if (listens && turn.next !== undefined)
    add(
      "next",
      `is never reached, because ${turn.id} listens. Lead there by an answer, on_silence or on_other`,
    );
  for (const part of ["on_silence", "on_other"] as const) {
    if (!listens && turn[part] !== undefined)
      add(part, `is never used, because ${turn.id} does not listen. Add listen, or use next`);
  }
  if (/[<>]/.test(turn.say.replace(/\{[{%].*?[}%]\}/gs, "")))
    add("say", "has markup, which is not spoken. Write plain words");
  const taken = new Set<string>();
  for (const [number, { keys = "", phrases = [], next }] of (turn.listen ?? []).entries()) {
    const part = `listen[${number}]`;
    if (keys === "" && phrases.length === 0) add(part, "waits for nothing. Give keys or phrases");
    if (!known(next))
      add(`${part}.next`, `names the turn ${next}, which is not there. Add the turn, or write ${END}`);
    if (keys.includes(STOP_KEY))
      add(`${part}.keys`, `takes the key ${STOP_KEY}, which stops all calls. Take another key`);
    for (const key of new Set(keys)) {
      if (taken.has(key)) add(`${part}.keys`, `takes the key ${key} a second time. Take another key`);
      taken.add(key);
    }
    for (const phrase of phrases) {
      if (isStop(phrase))
        add(
          `${part}.phrases`,
          `has ${JSON.stringify(phrase)}, which means stop and ends the call. Remove it`,
        );
    }
  }
  return problems;
}

/** The turns that may follow a turn; the end is one of them. */
function following({ id, listen = [], next, on_silence, on_other }: ScriptTurn): string[] {
  if (listen.length === 0) return [next ?? END];
  // Without a way of its own, silence repeats the turn and then ends the call.
  return [...listen.map((answer) => answer.next), on_silence ?? END, on_other ?? END].filter(
    (one) => one !== id,
  );
}

/** The ways that the author has drawn to the end: a repeated silence alone is no end of a script. */
function drawn({ listen = [], next, on_silence, on_other }: ScriptTurn): string[] {
  if (listen.length === 0) return [next ?? END];
  return [
    ...listen.map((answer) => answer.next),
    ...(on_silence ? [on_silence] : []),
    ...(on_other ? [on_other] : []),
  ];
}

function reachProblems(turns: readonly ScriptTurn[]): FaultDetail[] {
  const [first] = turns;
  if (!first) return [];
  const byId = new Map(turns.map((turn) => [turn.id, turn]));
  const reached = closure([first.id], (id) => (byId.has(id) ? following(byId.get(id)!) : []));
  const unreached = turns.flatMap(({ id }, index) =>
    reached.has(id)
      ? []
      : [
          {
            field: `turns[${index}].id`,
            message: `${id} is never reached. Lead to it from another turn, or remove it`,
          },
        ],
  );
  const ending = new Set([END]);
  for (let grew = true; grew; ) {
    grew = false;
    for (const turn of turns) {
      if (ending.has(turn.id) || !drawn(turn).some((id) => ending.has(id))) continue;
      ending.add(turn.id);
      grew = true;
    }
  }
  const endless = turns.flatMap(({ id }, index) =>
    ending.has(id) || !reached.has(id)
      ? []
      : [
          {
            field: `turns[${index}].next`,
            message: `no way leads from ${id} to an end. Let a turn behind it end the call`,
          },
        ],
  );
  return [...unreached, ...endless];
}

function closure(from: readonly string[], next: (id: string) => readonly string[]): Set<string> {
  const reached = new Set(from);
  for (const id of reached) for (const other of next(id)) reached.add(other);
  return reached;
}

function lengthProblems(turns: readonly ScriptTurn[], { mostSeconds }: ScriptRules): FaultDetail[] {
  const long = turns.flatMap(({ id, say }, index) => {
    const seconds = secondsToSay(say);
    if (seconds <= MOST_TURN_SECONDS) return [];
    return [
      {
        field: `turns[${index}].say`,
        message: `takes about ${seconds} seconds; ${id} may take ${MOST_TURN_SECONDS}. Shorten it, or split it`,
      },
    ];
  });
  const seconds = longestSeconds(turns);
  if (seconds <= mostSeconds) return long;
  const message = `may take ${seconds} seconds, and a call at most ${mostSeconds} (most_call_seconds of list_voice_laws). Shorten the longest way`;
  return [...long, { field: "turns", message }];
}

/** The seconds of the longest way through the turns, each said once. */
export function longestSeconds(turns: readonly ScriptTurn[]): number {
  const byId = new Map(turns.map((turn) => [turn.id, turn]));
  const known = new Map<string, number>();
  const longest = (id: string): number => {
    const turn = byId.get(id);
    if (!turn) return 0;
    const before = known.get(id);
    if (before !== undefined) return before;
    // A circle counts once.
    known.set(id, 0);
    const own = secondsToSay(turn.say) + ((turn.listen?.length ?? 0) > 0 ? LISTEN_SECONDS : 0);
    const seconds = own + Math.max(0, ...following(turn).map(longest));
    known.set(id, seconds);
    return seconds;
  };
  return FIXED_SECONDS + longest(turns[0]?.id ?? END);
}
