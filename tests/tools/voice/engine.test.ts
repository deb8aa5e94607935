import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CALL_LANGUAGES, type CallScript } from "#runtime/channels/provider/call.ts";
import type { Keyword } from "#tools/sms/keywords.ts";
import { parseText } from "#tools/templates/rendering/liquid.ts";
import { compileScript } from "#tools/voice/compile.ts";
import { type CallState, type Heard, nextStep, RINGING } from "#tools/voice/engine/engine.ts";
import { FIXED_PARTS, fixedSentence } from "#tools/voice/engine/fixed-words.ts";
import { asksWho, isGreeting, soFarReader, stopReader } from "#tools/voice/engine/heard.ts";
import type { Said } from "#tools/voice/engine/said.ts";
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
    { kind: "cut_off", spoken: "" },
    { kind: "cut_off", spoken: "Hello. This is" },
    { kind: "cut_off", spoken: "You can call us at 800" },
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
  steps: { heard: Heard; act: string; state: CallState; say: readonly Said[] }[];
}

function play(call: CallScript, events: readonly Heard[]): Played {
  const played: Played = { said: [], steps: [] };
  let state = RINGING;
  for (const one of events) {
    const step = nextStep(call, state, one, isStop);
    state = step.state;
    played.said.push(...step.say);
    played.steps.push({ heard: one, act: step.act, state, say: step.say });
  }
  return played;
}

const stops = (one: Heard) =>
  (one.kind === "keys" && one.keys.includes("9")) || (one.kind === "speech" && isStop(one.text));

test("a call with any script and person says identification first, the way out second, the number before the end, nothing behind a stop", () => {
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
      for (const { heard: one, act, state, say } of steps) {
        if (isOver) expect([act, say]).toEqual(["none", []]);
        else if (stops(one) && state.phase === "over") expect(act).toBe("stop");
        if (stops(one)) expect(state.phase).toBe("over");
        // The number is said before we end a call.
        if (!isOver && act === "close") expect(say.at(-1)?.fixed).toMatch(/closing|voicemail_opt_out/);
        // A person who spoke over a sentence of the law hears it once more, or has heard it three times.
        if (act === "pause" && state.cuts < 2)
          expect(state.owed.some(({ fixed }) => fixed !== null)).toBe(true);
        isOver ||= state.phase === "over";
      }
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

const THREE: CallScript = {
  language: "en",
  entity: "Casino LLC",
  number: "800 555 0100",
  ai_disclosure: true,
  voicemail: "Come and see us.",
  turns: [
    { id: "a", say: "You have free play.", listen: [], next: "b", on_silence: null, on_other: null },
    { id: "b", say: "Good luck.", listen: [], next: null, on_silence: null, on_other: null },
  ],
};
const IDENTIFICATION = fixedSentence(THREE, "identification");
const OPT_OUT = fixedSentence(THREE, "opt_out");
const CLOSING = fixedSentence(THREE, "closing");
const person: Heard = { kind: "person" };
const silence: Heard = { kind: "silence" };
const cut = (spoken: string): Heard => ({ kind: "cut_off", spoken });
const speech = (text: string): Heard => ({ kind: "speech", text });
const texts = (said: readonly Said[]) => said.map(({ text }) => text);

describe("a script without an answer, over which the person speaks", () => {
  test.each([
    [
      "the identification",
      "Hello. This is",
      [IDENTIFICATION, OPT_OUT, "You have free play.", "Good luck.", CLOSING],
    ],
    ["nothing at all", "", [IDENTIFICATION, OPT_OUT, "You have free play.", "Good luck.", CLOSING]],
    [
      "the way to stop",
      `${IDENTIFICATION} To stop these`,
      [IDENTIFICATION, OPT_OUT, "You have free play.", "Good luck.", CLOSING],
    ],
    ["a turn", `${IDENTIFICATION} ${OPT_OUT} You have`, ["You have free play.", "Good luck.", CLOSING]],
    ["the number, told alone", "You can call us at 800", [CLOSING]],
    [
      "words that we never said",
      "Buy now",
      [IDENTIFICATION, OPT_OUT, "You have free play.", "Good luck.", CLOSING],
    ],
  ])("says on from the sentence that was cut short behind %s", (_, spoken, again) => {
    const { said, steps } = play(THREE, [person, cut(spoken), speech("hm?"), silence]);
    expect(texts(said.slice(5))).toEqual(again);
    expect(steps.map(({ act }) => act)).toEqual(["close", "pause", "close", "hang_up"]);
  });

  test("hears nothing twice when the last sentence was said", () => {
    const { said, steps } = play(THREE, [person, cut(CLOSING), silence]);
    expect(said).toHaveLength(5);
    expect(steps.map(({ act }) => act)).toEqual(["close", "pause", "hang_up"]);
  });

  test("hears the same words three times at most, and then the call ends", () => {
    const { said, steps } = play(THREE, [
      person,
      ...[1, 2, 3, 4].flatMap(() => [cut("You can"), cut("You can"), silence]),
    ]);
    expect(texts(said).filter((text) => text === CLOSING)).toHaveLength(3);
    expect(steps.at(-1)).toMatchObject({ act: "none", state: { phase: "over" } });
  });

  test("stops all calls by a word, asks who calls, or hangs up, until the last word is said", () => {
    expect(play(THREE, [person, cut("You can"), speech("stop")]).steps.at(-1)!.act).toBe("stop");
    const asked = play(THREE, [person, speech("Who is this?"), silence]);
    expect(texts(asked.said.slice(5))).toEqual([IDENTIFICATION, OPT_OUT, CLOSING]);
    expect(asked.steps.at(-1)!.act).toBe("hang_up");
    expect(nextStep(THREE, play(THREE, [person]).steps[0]!.state, { kind: "hung_up" }, isStop).outcome).toBe(
      "hung_up",
    );
  });

  test("is a machine whose greeting cuts the message short: the message is left as a whole", () => {
    const { said, steps } = play(THREE, [
      { kind: "machine" },
      cut(`${IDENTIFICATION} Come`),
      silence,
      silence,
    ]);
    expect(texts(said.slice(0, 3))).toEqual(texts(said.slice(3)));
    expect(said).toHaveLength(6);
    expect(steps.at(-1)!.state.outcome).toBe("voicemail_left");
  });
});

test("an answer over the opening is no answer to the turn that was not heard", () => {
  const call: CallScript = {
    ...THREE,
    turns: [
      { ...THREE.turns[0]!, next: null, listen: [{ keys: "1", phrases: ["yes"], next: "b" }] },
      THREE.turns[1]!,
    ],
  };
  const { said, steps } = play(call, [person, cut("Hello"), speech("yes"), speech("yes"), silence]);
  expect(texts(said.slice(3))).toEqual([
    IDENTIFICATION,
    OPT_OUT,
    "You have free play.",
    "Good luck.",
    CLOSING,
  ]);
  expect(steps.map(({ act }) => act)).toEqual(["listen", "pause", "listen", "close", "hang_up"]);
  // Over the turn itself a person may answer.
  const eager = play(call, [person, cut(`${IDENTIFICATION}${OPT_OUT} You`), speech("yes")]);
  expect(texts(eager.said.slice(3))).toEqual(["Good luck.", CLOSING]);
});

test("unfinished words are a stop at once only when no end of the sentence can change that", () => {
  const word = (
    text: string,
    action: Keyword["action"],
    match: Keyword["match"],
    origin: Keyword["origin"],
  ) => {
    return { text, action, match, origin, language: "en" };
  };
  const keywords = [
    word("STOP", "stop", "message", "protected"),
    word("STOP", "review", "anywhere", "default"),
    word("STOP CALLING", "stop", "beginning", "default"),
    word("NO MORE", "stop", "message", "default"),
    word("NO MORE CALLS", "stop", "beginning", "default"),
  ];
  const read = soFarReader(keywords);
  for (const text of ["Please stop calling", "stop", "well, stop", "no more calls to"])
    expect(read(text), text).toBe("surely");
  for (const text of ["no more", "nine"]) expect(read(text), text).toBe("perhaps");
  for (const text of ["no more than two", "nine o'clock", "sto", "yes", ""])
    expect(read(text), text).toBe("no");
  // A property whose people stop by waits for the end of the sentence.
  const own = soFarReader([...keywords, word("STOP BY", "ignore", "anywhere", "property")]);
  expect([own("stop"), own("stop by"), own("stop calling")]).toEqual(["perhaps", "perhaps", "surely"]);
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
  expect(scriptProblems({ ...SCRIPT, callback_number: "+1 900 555 0100" }, RULES)).toEqual([
    { field: "callback_number", message: expect.stringContaining("premium rate") },
  ]);
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

test("a sentence of Chinese takes the time of its syllables, and a number that of its digits", () => {
  expect(secondsToSay("您好")).toBe(1);
  expect(secondsToSay("如果您不想再接到此类电话")).toBe(3);
  expect(secondsToSay("Hello there, this is a call.")).toBe(3);
  expect(secondsToSay("Call 800 555 0100.")).toBe(5);
});

test("a question who calls, and an answering machine, are understood in every language of the fixed sentences", () => {
  const questions = `Who am I talking to?|What company is this?|Is this a real person?|Are you human?|Is this a recording?
    |¿De parte de quién?|¿Con quién hablo?|¿Es un robot?|C'est qui?|C'est de la part de qui?|Qui est à l'appareil?
    |Vous êtes un robot?|C'est un répondeur?|Wer ist dort?|Wer ist am Apparat?|哪位?|你是真人吗?|谁啊?`;
  const machines = `Record your message at the tone|The person you are trying to reach is not available
    |Your call has been forwarded to an automated voice messaging system|We can't take your call right now
    |El número que usted marcó no está disponible|Después del tono|Vous êtes bien sur le répondeur de Paul
    |Veuillez laisser un message après le signal sonore|Bitte sprechen Sie nach dem Signal
    |您拨打的用户暂时无法接听|请在滴声后留言|请在提示音之后留言`;
  const notSo = (texts: string, is: (text: string) => boolean) =>
    texts.split(/\s*\|/).filter((text) => !is(text));
  expect(notSo(questions, asksWho)).toEqual([]);
  expect(notSo(machines, isGreeting)).toEqual([]);
  expect(questions.split(/\s*\|/).filter(isGreeting)).toEqual([]);
});
