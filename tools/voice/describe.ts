import { z } from "zod";
import { FIXED_PARTS, fixedSentence, STOP_KEY } from "./engine/fixed-words.ts";
import { OUTCOMES } from "./engine/outcomes.ts";
import { VoiceScript } from "./script.ts";

/** A script that works, with every kind of way through it. */
export const EXAMPLE_SCRIPT: VoiceScript = {
  language: "en",
  callback_number: "+18005550100",
  turns: [
    {
      id: "offer",
      say: 'Hello {{ first_name | default: "there" }}. You have free play this weekend. Press 1 or say yes to hear more, or press 2 to end the call.',
      listen: [
        { keys: "1", phrases: ["yes", "tell me more"], next: "details" },
        { keys: "2", phrases: ["no", "not now"], next: "goodbye" },
      ],
      on_silence: "goodbye",
    },
    { id: "details", say: "It waits for you at the players club until Sunday evening.", next: "goodbye" },
    { id: "goodbye", say: "Thank you, and good luck." },
  ],
  on_voicemail: "You have free play this weekend. It waits for you at the players club.",
};

const CALL = {
  language: "en",
  entity: "<the property's legal_name>",
  number: "<callback_number>",
  ai_disclosure: true,
} as const;

/** How a script is written, for agents: its schema, what every call says besides, and a worked example. */
export function describeScripts(): object {
  return {
    rules: [
      "The first turn begins the call. A turn that does not listen leads to next, or ends the call.",
      "Every turn must be reached from the first one, and every way must lead to an end.",
      `The key ${STOP_KEY} and words that mean stop end the call and revoke consent, in every turn: no answer may use them.`,
      "on_voicemail needs a toll-free callback_number. Only then is anything said to a machine.",
      "say is Liquid with the fields of templates, as plain words. Write numbers and dates as they are spoken.",
      "A call ends after most_call_seconds (list_voice_laws) and before the calling hours do.",
      "Players need a consent for voice of the level express_written (consent_record).",
    ],
    fixed_sentences: Object.fromEntries(FIXED_PARTS.map((part) => [part, fixedSentence(CALL, part)])),
    order:
      "identification, opt_out, the turns, closing; on a voicemail: identification, on_voicemail, voicemail_opt_out",
    outcomes: OUTCOMES,
    schema: z.toJSONSchema(VoiceScript),
    example: EXAMPLE_SCRIPT,
  };
}
