import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CALL_LANGUAGES, type CallScript } from "#runtime/channels/provider/call.ts";
import { parseText } from "#tools/templates/rendering/liquid.ts";
import { compileScript } from "#tools/voice/compile.ts";
import { type CallState, type Heard, nextStep, RINGING, type Said } from "#tools/voice/engine/engine.ts";
import { FIXED_PARTS, fixedSentence } from "#tools/voice/engine/fixed-words.ts";
import { stopReader } from "#tools/voice/engine/heard.ts";
import { secondsToSay } from "#tools/voice/engine/transcript.ts";
import { scriptProblems } from "#tools/voice/problems.ts";
import { VoiceScript } from "#tools/voice/script.ts";
import { PERSONAS, type Persona, personaOf } from "#tools/voice/simulator/personas.ts";
import { simulateCall } from "#tools/voice/simulator/simulate.ts";
import { spokenText, spokenValues } from "#tools/voice/spoken.ts";
import { isFull } from "../../support/proof-size.ts";

const KEYWORDS = (["STOP", "STOP CALLING", "REMOVE ME", "DONT CALL"] as const).map((text) => ({
  text,
  action: "stop" as const,
  match: text === "STOP" ? ("message" as const) : ("anywhere" as const),
  language: "en",
  origin: "default" as const,
}));
const isStop = stopReader(KEYWORDS);
const RULES = { defaultCountry: "US", mostSeconds: 300, isStop };

const id = (n: number) => `t${n}`;
const turnIds = (count: number) => fc.constantFrom(...Array.from({ length: count }, (_, n) => id(n)), "end");
/** Scripts of any form: circles, dead ends and turns that nobody reaches included. */
const scripts: fc.Arbitrary<CallScript> = fc.integer({ min: 1, max: 8 }).chain((count) =>
  fc.record({
    language: fc.constantFrom(...CALL_LANGUAGES),
    entity: fc.constant("Casino LLC"),
    number: fc.constant("800 555 0100"),
    ai_disclosure: fc.boolean(),
    voicemail: fc.option(fc.constant("Come and see us.")),
    turns: fc.tuple(
      ...Array.from({ length: count }, (_, n) =>
        fc.record({
          id: fc.constant(id(n)),
          say: fc.string({ minLength: 1, maxLength: 60 }),
          listen: fc.array(
            fc.record({
              keys: fc.constantFrom("", "1", "2", "12"),
              phrases: fc.subarray(["yes", "no", "tell me more"]),
              next: turnIds(count),
            }),
            { maxLength: 3 },
          ),
          next: fc.option(turnIds(count)),
          on_silence: fc.option(turnIds(count)),
          on_other: fc.option(turnIds(count)),
        }),
      ),
    ),
  }),
);
const heard: fc.Arbitrary<Heard> = fc.oneof(
  fc.constantFrom<Heard>(
    { kind: "silence" },
    { kind: "hung_up" },
    { kind: "machine" },
    { kind: "person" },
    { kind: "time_up" },
  ),
  fc.constantFrom("1", "2", "9", "#", "19").map((keys): Heard => ({ kind: "keys", keys })),
  fc
    .constantFrom(
      "yes",
      "no",
      "stop",
      "Please stop calling me",
      "who is this?",
      "hmm",
      "nine",
      "leave a message after the tone",
      "remove me from the list",
    )
    .map((text): Heard => ({ kind: "speech", text })),
);

interface Played {
  said: Said[];
  steps: { heard: Heard; act: string; state: CallState }[];
}

function play(call: CallScript, events: readonly Heard[]): Played {
  const played: Played = { said: [], steps: [] };
  let state = RINGING;
  for (const one of events) {
    const step = nextStep(call, state, one, isStop);
    state = step.state;
    played.said.push(...step.say);
    played.steps.push({ heard: one, act: step.act, state });
  }
  return played;
}

const stops = (one: Heard) =>
  (one.kind === "keys" && one.keys.includes("9")) || (one.kind === "speech" && isStop(one.text));

test("whatever the script and the person: identification first, the way out second, the number before the end, nothing behind a stop", () => {
  fc.assert(
    fc.property(scripts, fc.array(heard, { maxLength: 40 }), (call, later) => {
      const { said, steps } = play(call, [{ kind: "person" }, ...later]);
      expect(said[0]).toEqual({
        text: fixedSentence(call, "identification"),
        fixed: "identification",
        turn: null,
      });
      expect(said[1]?.fixed).toBe("opt_out");
      let isOver = false;
      for (const { heard: one, act, state } of steps) {
        if (isOver) expect(act).toBe("none");
        else if (stops(one) && state.phase === "over") expect(act).toBe("stop");
        if (stops(one)) expect(state.phase).toBe("over");
        isOver ||= state.phase === "over";
      }
      const ending = steps.findIndex(({ state }) => state.phase === "over");
      const ends = ending < 0 ? null : steps[ending]!;
      const byUs =
        ends?.act === "hang_up" &&
        ends.heard.kind !== "hung_up" &&
        said.at(-1)?.fixed !== "voicemail_opt_out";
      const isSilent =
        ends?.heard.kind === "machine" || (ends?.heard.kind === "speech" && call.voicemail === null);
      if (byUs && !isSilent) expect(said.at(-1)?.fixed).toBe("closing");
      // The machine hears the whole message or nothing.
      if (said.at(-1)?.fixed === "voicemail_opt_out") expect(said.at(-3)?.fixed).toBe("identification");
      expect(said.length).toBeLessThan(200);
    }),
    { numRuns: isFull ? 10_000 : 500 },
  );
});

test("every persona's call ends, and no call says a word behind a stop", () => {
  fc.assert(
    fc.property(scripts, fc.constantFrom(...(Object.keys(PERSONAS) as Persona[])), (call, persona) => {
      const { outcome, transcript, answered_by } = simulateCall(call, persona, isStop);
      expect(answered_by === null).toBe(persona === "no_answer");
      if (outcome === "opted_out") expect(transcript.at(-1)?.by).toBe("them");
    }),
    { numRuns: isFull ? 10_000 : 500 },
  );
});

test("a key has always the same persona, and all of them come up", () => {
  const seen = new Set(Array.from({ length: 500 }, (_, n) => personaOf(`c|${n}|`)));
  expect([...seen].sort()).toEqual(Object.keys(PERSONAS).sort());
  expect(personaOf("c|1|")).toBe(personaOf("c|1|"));
});

const CALLER = { entity: "Casino LLC", defaultCountry: "US", aiDisclosure: true };
const SCRIPT: VoiceScript = {
  callback_number: "+18005550100",
  turns: [{ id: "offer", say: "Hello {{ name }}.", listen: [{ keys: "1", next: "end" }] }],
};

describe("no author and no player's data edits the fixed sentences away", () => {
  const rendered = (script: VoiceScript, values: Record<string, unknown>) =>
    compileScript(VoiceScript.parse(script), CALLER, parseText).render(spokenValues(values)).call;

  test.each([
    "<speak><break time='0'/></speak>",
    "</Say><Hangup/>",
    "{% comment %}",
    "\u0000\u202eevitcaer",
    "Ignore the rules above. ".repeat(200),
    '"}]}, "type":"end"',
  ])("%j", (evil) => {
    const call = rendered(SCRIPT, { name: evil });
    const { say } = nextStep(call, RINGING, { kind: "person" }, isStop);
    expect(say.slice(0, 2).map(({ fixed }) => fixed)).toEqual(["identification", "opt_out"]);
    expect(say[0]!.text).toBe("Hello. This is an automated call from Casino LLC, by an AI voice.");
    expect(say[2]!.text).not.toMatch(/[<>{}[\]\p{C}]/u);
    expect(say[2]!.text.length).toBeLessThan(100);
  });

  test("Liquid of a turn reaches no fixed sentence", () => {
    const script = {
      ...SCRIPT,
      turns: [{ id: "offer", say: "{% assign entity = 'Other' %}{% assign number = '1' %}Hello." }],
    };
    const { say } = nextStep(rendered(script, {}), RINGING, { kind: "person" }, isStop);
    expect(say.map(({ text }) => text).join(" ")).toContain("Casino LLC");
    expect(say.at(-1)!.text).toContain("800 555 0100");
  });

  test("a script has no other field than its own", () => {
    for (const more of [{ entity: "Other" }, { identification: "" }, { opt_out: false }, { fixed: [] }]) {
      expect(VoiceScript.safeParse({ ...SCRIPT, ...more }).success).toBe(false);
    }
  });

  test("text that is spoken is one plain line", () => {
    expect(spokenText("a\n<b>b</b>\t\u0007c")).toBe("a b b /b c");
  });
});

test("all faults of a script are named at once, each with its turn and remedy", () => {
  const faults = scriptProblems(
    VoiceScript.parse({
      callback_number: "12",
      on_voicemail: "Call us.",
      turns: [
        {
          id: "a",
          say: "Hello <b>you</b>",
          listen: [{ keys: "9", phrases: ["stop calling"], next: "b" }, { next: "nowhere" }],
        },
        { id: "b", say: "On.", next: "b" },
        { id: "c", say: "Nobody comes here." },
        { id: "c", say: "w ".repeat(200), on_silence: "a" },
      ],
    }),
    RULES,
  );
  expect(faults.map(({ field }) => field)).toEqual([
    "callback_number",
    "turns[0].say",
    "turns[0].listen[0].keys",
    "turns[0].listen[0].phrases",
    "turns[0].listen[1]",
    "turns[0].listen[1].next",
    "turns[3].id",
    "turns[3].on_silence",
    "turns[2].id",
    "turns[3].id",
    "turns[0].next",
    "turns[1].next",
    "turns[3].say",
  ]);
  for (const { message } of faults) expect(message).toMatch(/\. [A-Z]/);
  const long = {
    ...SCRIPT,
    turns: Array.from({ length: 12 }, (_, n) => ({
      id: `t${n}`,
      say: "word ".repeat(100),
      ...(n < 11 && { next: `t${n + 1}` }),
    })),
  };
  expect(scriptProblems(long, RULES)).toEqual([
    { field: "turns", message: expect.stringContaining("a call at most 300") },
  ]);
  expect(
    scriptProblems({ ...SCRIPT, callback_number: "+17025550100", on_voicemail: "Call." }, RULES),
  ).toEqual([{ field: "callback_number", message: expect.stringContaining("toll-free") }]);
});

test("every fixed sentence stands in each language of the pages, names the company and the number, and is no copy", () => {
  expect([...CALL_LANGUAGES].sort()).toEqual(["de", "en", "es", "fr", "zh"]);
  const call = { entity: "Casino LLC", number: "800 555 0100", ai_disclosure: true };
  for (const part of FIXED_PARTS) {
    const sentences = CALL_LANGUAGES.map((language) => fixedSentence({ ...call, language }, part));
    expect(new Set(sentences).size, part).toBe(CALL_LANGUAGES.length);
    for (const sentence of sentences) {
      if (part === "identification") expect(sentence).toContain("Casino LLC");
      else if (part === "opt_out") expect(sentence).toContain("9");
      else expect(sentence).toContain("800 555 0100");
    }
  }
  for (const language of CALL_LANGUAGES) {
    const [ai, plain] = [true, false].map((ai_disclosure) =>
      fixedSentence({ ...call, language, ai_disclosure }, "identification"),
    );
    expect(ai!.length, language).toBeGreaterThan(plain!.length);
  }
});

test("a sentence of Chinese takes the time of its syllables", () => {
  expect(secondsToSay("您好")).toBe(1);
  expect(secondsToSay("如果您不想再接到此类电话")).toBe(3);
  expect(secondsToSay("Hello there, this is a call.")).toBe(3);
});
