import { z } from "zod";
import { CALL_LANGUAGES } from "#runtime/channels/provider/call.ts";
import { END } from "./engine/engine.ts";

const MOST_TURNS = 30;
const SAY_CHARACTERS = 2_000;
const PHRASE_CHARACTERS = 100;

const text = (most: number) => z.string().trim().min(1).max(most);
const turnId = () =>
  z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, "must be lower-case letters, digits and _, such as offer");
const target = () => turnId().describe(`A turn's id, or ${END}`);

const Answer = z.strictObject({
  keys: z
    .string()
    .regex(/^[0-9*#]{1,12}$/, "must be keys of a telephone, such as 1 or 12")
    .optional()
    .describe("Any of these keys. 9 always stops all calls, and is not yours"),
  phrases: z.array(text(PHRASE_CHARACTERS)).max(20).optional().describe("Words that the person may say"),
  next: target(),
});

const Turn = z.strictObject({
  id: turnId(),
  say: text(SAY_CHARACTERS).describe("Liquid. Plain words: markup is not spoken"),
  listen: z.array(Answer).max(10).optional().describe("The answers that the turn waits for"),
  next: target().optional().describe("The turn that follows at once, where this one does not listen"),
  on_silence: target().optional().describe("Default: the turn once more, then the end"),
  on_other: target().optional().describe("After any other answer. Default: the turn once more, then the end"),
});

/** The script of a voice campaign. Refinements stay out: `scriptProblems` names all faults at once. */
export const VoiceScript = z.strictObject({
  language: z.enum(CALL_LANGUAGES).optional().describe("Of the fixed sentences too. Default: en"),
  callback_number: text(40).describe("The number that every call tells; E.164, or as dialed"),
  turns: z.array(Turn).min(1).max(MOST_TURNS).optional(),
  instructions: text(20_000)
    .optional()
    .describe("Liquid. In place of turns, for an agent of vapi, retell or bland"),
  on_voicemail: text(SAY_CHARACTERS)
    .optional()
    .describe(
      "Liquid. The message for an answering machine; needs a toll-free callback_number. Default: none",
    ),
});
export type VoiceScript = z.output<typeof VoiceScript>;
export type ScriptTurn = NonNullable<VoiceScript["turns"]>[number];
