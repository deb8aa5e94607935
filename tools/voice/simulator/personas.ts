import { createHash } from "node:crypto";
import type { CallTurn } from "#runtime/channels/provider/call.ts";
import type { Heard } from "#tools/voice/engine/engine.ts";

/** How the simulator's made-up people answer a call, of a hundred calls each. */
export const PERSONAS = {
  picks_up: 30,
  voicemail: 20,
  no_answer: 14,
  hangs_up: 10,
  presses_9: 8,
  says_stop: 8,
  asks_who: 5,
  silent: 5,
} as const;
export type Persona = keyof typeof PERSONAS;

/** The persona of a key: the same key has always the same one. */
export function personaOf(key: string): Persona {
  const total = Object.values(PERSONAS).reduce((sum, weight) => sum + weight, 0);
  let rest = createHash("sha256").update(key).digest().readUInt32BE(0) % total;
  for (const [name, weight] of Object.entries(PERSONAS)) {
    if (rest < weight) return name as Persona;
    rest -= weight;
  }
  return "picks_up";
}

/** The first thing that a persona does; null where nobody answers. */
export function pickUp(persona: Persona): Heard | null {
  if (persona === "no_answer") return null;
  return { kind: persona === "voicemail" ? "machine" : "person" };
}

/** A persona's act while the last words of a call are said. */
export function lastReplyOf(persona: Persona): Heard {
  return OWN_WAYS[persona] ?? { kind: "silence" };
}

const OWN_WAYS: Partial<Record<Persona, Heard>> = {
  hangs_up: { kind: "hung_up" },
  presses_9: { kind: "keys", keys: "9" },
  says_stop: { kind: "speech", text: "Please stop calling me." },
  silent: { kind: "silence" },
};

/** A persona's answer to a turn that listens. `count`: how many it has given before. */
export function replyOf(persona: Persona, turn: CallTurn, count: number): Heard {
  const own = OWN_WAYS[persona];
  if (own) return own;
  if (persona === "asks_who" && count === 0) return { kind: "speech", text: "Who is this?" };
  const answer = turn.listen[0];
  if (!answer) return { kind: "silence" };
  const [phrase] = answer.phrases;
  if (phrase !== undefined) return { kind: "speech", text: phrase };
  const [key] = answer.keys;
  return key === undefined ? { kind: "silence" } : { kind: "keys", keys: key };
}
