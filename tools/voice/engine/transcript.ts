import { z } from "zod";
import type { Heard, Step } from "./engine.ts";
import { FIXED_PARTS } from "./fixed-words.ts";
import type { Said } from "./said.ts";

/** One line of a call, in its order. */
export const TranscriptLine = z.object({
  n: z.int().describe("Its number in the call, from 0"),
  at: z.number().describe("Seconds since the call was answered"),
  by: z.enum(["us", "them"]),
  text: z.string(),
  turn: z.string().nullable().describe("Of the script"),
  fixed: z.enum(FIXED_PARTS).nullable().describe("A sentence that the law wants"),
  keys: z.string().nullable().describe("Pressed keys"),
});
export type TranscriptLine = z.output<typeof TranscriptLine>;

const MOST_CHARACTERS = 1_000;

/** A step of a call as lines after the ones before: what was heard, and our words. */
export function stepLines(heard: Heard, { say, act }: Step, from: number, at: number): TranscriptLine[] {
  // The silence behind our last words says nothing.
  const theirs = heard.kind === "silence" && act === "hang_up" ? [] : theirLines(heard, from, at);
  return [...theirs, ...ourLines(say, from + theirs.length, at)];
}

function ourLines(said: readonly Said[], from: number, at: number): TranscriptLine[] {
  return said.map(({ text, turn, fixed }, index) => {
    return { n: from + index, at, by: "us", text, turn, fixed, keys: null };
  });
}

const WORDS: Partial<Record<Heard["kind"], string>> = {
  silence: "(silence)",
  hung_up: "(hung up)",
  machine: "(an answering machine)",
  cut_off: "(spoke over us)",
};

/** The other side's words or keys, as lines. */
export function theirLines(heard: Heard, from: number, at: number): TranscriptLine[] {
  const line = { n: from, at, by: "them" as const, turn: null, fixed: null, keys: null };
  if (heard.kind === "speech") return [{ ...line, text: heard.text.slice(0, MOST_CHARACTERS) }];
  if (heard.kind === "keys") return [{ ...line, text: `(pressed ${heard.keys})`, keys: heard.keys }];
  const text = WORDS[heard.kind];
  return text === undefined ? [] : [{ ...line, text }];
}

/** Each of these characters is a syllable, and no space parts them. */
const CHINESE = /\p{Script=Han}/gu;

/** About the time that a voice needs for a text. A telephone number is spoken digit by digit. */
export function secondsToSay(text: string): number {
  const characters = text.match(CHINESE)?.length ?? 0;
  const words = text
    .replace(CHINESE, " ")
    .replace(/\d/g, " $& ")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  return Math.max(1, Math.ceil(words / 2.5 + characters / 4));
}
