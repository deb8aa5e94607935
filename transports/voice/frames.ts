import { z } from "zod";
import type { Heard } from "#tools/voice/engine/engine.ts";

/** The frames of ConversationRelay that matter here, as Twilio and Telnyx send them. */
const Frame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("setup"), callSid: z.string().max(320) }),
  z.object({ type: z.literal("prompt"), voicePrompt: z.string(), last: z.boolean().default(true) }),
  z.object({ type: z.literal("dtmf"), digit: z.string().regex(/^[0-9*#A-D]$/) }),
  z.object({ type: z.literal("interrupt"), utteranceUntilInterrupt: z.string().default("") }),
  z.object({ type: z.literal("error") }),
]);

/** One thing on the line: the setup, what was heard, or nothing. Null for a frame that we do not know. */
export type Arrived = { setup: string } | { heard: Heard } | { part: string } | Record<string, never>;

const MOST_CHARACTERS = 4_000;

/** Reads a frame. A carrier's new kinds of frames change nothing. */
export function readFrame(data: string): Arrived | null {
  let given: unknown;
  try {
    given = JSON.parse(data);
  } catch {
    return null;
  }
  const { data: frame } = Frame.safeParse(given);
  if (!frame) return typeof given === "object" && given !== null ? {} : null;
  if (frame.type === "setup") return { setup: frame.callSid };
  if (frame.type === "dtmf") return { heard: { kind: "keys", keys: frame.digit } };
  if (frame.type === "interrupt")
    return { heard: { kind: "cut_off", spoken: frame.utteranceUntilInterrupt.slice(0, MOST_CHARACTERS) } };
  if (frame.type !== "prompt") return {};
  const text = frame.voicePrompt.slice(0, MOST_CHARACTERS);
  return frame.last ? { heard: { kind: "speech", text } } : { part: text };
}

/** Words of ours. */
export function textFrame(text: string): string {
  return JSON.stringify({ type: "text", token: text, last: true });
}

export const END_FRAME = JSON.stringify({ type: "end" });
