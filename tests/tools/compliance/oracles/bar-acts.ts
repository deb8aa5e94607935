import fc from "fast-check";
import type { Addressed } from "./bars.ts";

export const NUMBERS = ["N1", "N2", "N3"];
export const EMAILS = ["a@example.com", "b@example.com", "c@example.com"];
export const PHONES = ["+17025550101", "+17025550102", "+17025550103"];
export const PEOPLE = [
  { first_name: "Ana", last_name: "Roe", birth_date: "1980-01-02" },
  { first_name: "Bo", last_name: "Doe", birth_date: "1970-03-04" },
];
export const CHANNELS: Addressed[] = ["email", "sms", "voice"];
export const EVIDENCE = { consentSource: "desk", consentText: "I agree to offers" };

export type Fields = Record<string, unknown>;

/** Some of the fields of a person. Fields of several people mix. */
const fields = fc.record(
  {
    player_id: fc.constantFrom(...NUMBERS),
    email: fc.constantFrom(...EMAILS),
    phone: fc.constantFrom(...PHONES),
    person: fc.constantFrom(...PEOPLE),
    status: fc.constantFrom("active", "vip_hold"),
  },
  { requiredKeys: [] },
);
const flat = ({ person, ...rest }: Fields): Fields => ({ ...rest, ...(person as object) });
const change = fc
  .tuple(fields, fc.subarray(["first_name", "last_name", "birth_date"]))
  .map(([given, left]) =>
    Object.fromEntries(Object.entries(flat(given)).filter(([name]) => !left.includes(name as never))),
  );
const which = fc.nat({ max: 5 });
const channel = fc.constantFrom(...CHANNELS);

/** A vendor's request that its vendor did not send: without a signature, changed behind it, or signed with another secret. */
const forged = fc.constantFrom(...([null, null, null, "unsigned", "changed", "stranger"] as const));
export type Forged = typeof forged extends fc.Arbitrary<infer T> ? T : never;

/** The texts of people, with what they ask for. */
export const TEXTS = {
  STOP: "stop",
  START: "start",
  HELP: "help",
  "can you stop the rain": "review",
} as const;

/** The acts of an API key, those of people by text and link, and those of vendors. */
export const act = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant("create" as const), given: change }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("update" as const), which, given: change }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("delete" as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("restore" as const), which }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("merge" as const), which, other: which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("import" as const),
      rows: fc.array(fc.record({ given: change, word: fc.constantFrom("", "", "yes", "no") }), {
        minLength: 1,
        maxLength: 2,
      }),
      mode: fc.constantFrom("upsert", "create_only", "update_only"),
      on_conflict: fc.constantFrom("overwrite", "fill_blanks", "skip"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("agree" as const),
      which,
      channel,
      proven: fc.boolean(),
      ago: fc.nat({ max: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("refuse" as const), which, channel }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("revoke" as const),
      which,
      channel: fc.constantFrom(...CHANNELS, "all" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant("revokeAddress" as const),
      address: fc.constantFrom(...EMAILS, ...PHONES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant("dnc" as const), phone: fc.constantFrom(...PHONES) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("suppress" as const),
      address: fc.constantFrom(...EMAILS, ...PHONES),
      reason: fc.constantFrom("manual", "unsubscribed", "complaint", "import", "stop_keyword"),
      all: fc.boolean(),
      ends: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("unsuppress" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("exclude" as const),
      which,
      how: fc.constantFrom("player", "email", "phone", "person"),
      pick: fc.nat({ max: 2 }),
      ends: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("wait" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant("send" as const), by: fc.constantFrom("email", "sms") }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("unsubscribe" as const),
      which,
      by: fc.constantFrom("mail program", "button"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("open" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("prefer" as const),
      which,
      off: fc.subarray(CHANNELS),
      on: fc.constantFrom([], ["email"]),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("notice" as const),
      which,
      known: fc.boolean(),
      kind: fc.constantFrom("hard", "soft", "complained", "unsubscribed"),
      times: fc.constantFrom(1, 1, 2),
      forged,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("end" as const),
      which,
      status: fc.constantFrom("banned", "deceased"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("erase" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("text" as const),
      phone: fc.constantFrom(...PHONES),
      text: fc.constantFrom(...(Object.keys(TEXTS) as (keyof typeof TEXTS)[])),
      forged,
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("repeat" as const), which }) },
);
export type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

const moved: Act = { act: "update", which: 0, given: { email: EMAILS[2] } };
const linked: Act = { act: "unsubscribe", which: 0, by: "mail program" };
const complained = {
  act: "notice",
  which: 0,
  known: true,
  kind: "complained",
  times: 2,
  forged: null,
} as const;

const told: Act = { act: "notice", which: 0, known: false, kind: "unsubscribed", times: 1, forged: null };
const agreed: Act = { act: "agree", which: 0, channel: "email", proven: true, ago: 0 };

const number: Act = { act: "dnc", phone: PHONES[0]! };
const address: Act = { act: "suppress", address: EMAILS[1]!, reason: "manual", all: false, ends: false };
const excluded: Act = { act: "exclude", which: 0, how: "player", pick: 0, ends: false };
const held: Act = { act: "update", which: 1, given: { status: "vip_hold" } };
const revoked: Act = { act: "revoke", which: 0, channel: "email" };
const refused: Act = { act: "refuse", which: 1, channel: "email" };

/**
 * Stories that chance seldom tells: each bar alone, one for each of the two players; the link of a former address and of
 * a merged record, a late complaint, a passed end, a refusal that its vendor repeats when the person has agreed again.
 */
export const STORIES: readonly Act[][] = [
  [number, address],
  [excluded, held],
  [revoked, refused],
  [moved, linked],
  [moved, complained],
  [{ act: "merge", which: 1, other: 0 }, linked],
  [
    { act: "exclude", which: 0, how: "player", pick: 0, ends: true },
    { act: "wait" },
    { act: "delete", which: 0 },
  ],
  [told, agreed, { act: "repeat", which: 0 }],
];
