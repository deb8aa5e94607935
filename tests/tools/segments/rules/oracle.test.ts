import { randomUUID } from "node:crypto";
import fc from "fast-check";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";
import { isFull } from "../../../support/proof-size.ts";
import { type Clock, meets, type Person } from "./oracle.ts";
import { CLOCK, openSegments, ZONE } from "./scenario.ts";

let segments: Awaited<ReturnType<typeof openSegments>>;

beforeAll(async () => {
  segments = await openSegments();
  const admin = postgres(segments.url, { max: 1, onnotice: () => {} });
  await admin.unsafe(CLOCK);
  await admin.end();
});

afterAll(() => segments.drop());

test("any rules give the audience that reading them row by row gives", async () => {
  const clock: Clock = { now: new Date("2027-03-02T03:30:00Z"), zone: ZONE, tiers: ORDERED_TIERS };
  const segment = randomUUID();
  const people = population(segment, 120);
  const property = await segments.propertyWith(
    people.map(({ segments: _, events: __, suppressed, ...person }) => ({
      ...person,
      phone_hash: Buffer.from(suppressed ? "stop" : person.id),
    })),
    ZONE,
    { t: "text", n: "number", b: "boolean", l: "text_list", d: "date", i: "datetime" },
  );
  await segments.add(
    property,
    "player_events",
    people.flatMap(({ id, events }) =>
      events.map(({ amount, ...event }) => ({ ...event, player_id: id, properties: { amount } })),
    ),
  );
  await segments.add(property, "suppressions", [
    { channel: "sms", address_hash: Buffer.from("stop"), reason: "manual" },
  ]);
  await segments.add(property, "segments", [{ id: segment, name: "List", type: "static" }]);
  await segments.add(
    property,
    "segment_members",
    people
      .filter((person) => person.segments.size > 0)
      .map((person) => ({ segment_id: segment, player_id: person.id })),
  );
  await fc.assert(
    fc.asyncProperty(rules(segment), async (group) => {
      const expected = people
        .filter((person) => meets(group, person, clock))
        .map((person) => person.player_id);
      expect(await segments.matching(property, group, clock.now)).toEqual(expected.sort());
    }),
    { numRuns: isFull ? 400 : 130, seed: 20260605 },
  );
});

const pick = <T>(index: number, values: readonly T[]): T => values[index % values.length]!;

const NAMES = ["Ann", "ann b", "50% off", "a_b", "back\\slash", "Zoë", "", null];
const TIERS = ["Gold", "Silver", "gold", null];
/** From the lowest, as a property has them that says nothing else. */
const ORDERED_TIERS = ["Bronze", "Silver", "Gold", "Platinum", "Diamond"];
const NUMBERS = [0, 1, 7.5, 100, -3, null];
const DATES = ["1980-02-29", "1991-03-01", "2027-03-01", "2027-02-28", "1990-12-31", null];
const TIMES = [
  "2027-03-02T03:30:00.000Z",
  "2027-03-01T04:59:59.000Z",
  "2027-03-01T05:00:00.000Z",
  "2026-11-01T05:30:00.000Z",
  "2027-03-09T03:30:00.000Z",
  null,
];
const TAGS = ["vip", "golf", "a,b", '"'];
const CUSTOM_TEXTS = ["Ann", "a_b", "", null];
const CUSTOM_NUMBERS = [7.5, 1, null, 2];
const CUSTOM_LISTS = [["vip"], [], null, ["vip", "golf"]];
const CUSTOM_DATES = ["2027-03-01", "2000-02-29", "2027-03-04", null];
const CUSTOM_TIMES = ["2027-03-01T23:00:00-05:00", "2027-03-02T03:30:00Z", "2027-03-01", null];

/** Steps that share no factor with the lists' lengths, so that the values meet in many ways. */
function population(segment: string, count: number): Person[] {
  return Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    player_id: `p${String(index).padStart(3, "0")}`,
    first_name: pick(index, NAMES),
    tier: pick(index * 7 + 1, TIERS),
    adt: pick(index * 5 + 2, NUMBERS),
    birth_date: pick(index * 11 + (index >> 3), DATES),
    last_visit_at: pick(index * 13 + (index >> 4), TIMES),
    legal_hold: index % 3 === 0,
    tags: TAGS.filter((_tag, bit) => (index >> bit) & 1),
    consents: pick(index, [{}, { sms: true }, { sms: false }, { sms: null }]),
    custom: index % 9 === 0 ? {} : customOf(index),
    suppressed: index % 5 === 0,
    events: eventsOf(index),
    segments: new Set(index % 4 === 1 ? [segment] : []),
  }));
}

function eventsOf(index: number): Person["events"] {
  return Array.from({ length: [0, 1, 2, 5][index % 4]! }, (_, turn) => ({
    name: turn % 3 === 2 ? "visit" : "spin",
    occurred_at: pick(index + turn * 3, TIMES) ?? "2026-06-01T00:00:00.000Z",
    amount: pick(index * 3 + turn, [5, 0, -2.5, "7", null, 100]),
  }));
}

function customOf(index: number): Record<string, unknown> {
  return {
    t: pick(index, CUSTOM_TEXTS),
    n: pick(index * 3 + 1, CUSTOM_NUMBERS),
    b: pick(index * 5 + 2, [true, false, null]),
    l: pick(index * 7 + 3, CUSTOM_LISTS),
    d: pick(index * 11 + (index >> 3), CUSTOM_DATES),
    i: pick(index * 13 + (index >> 4), CUSTOM_TIMES),
  };
}

const some = <T>(values: readonly T[]) =>
  fc.constantFrom(...(values.filter((value) => value !== null) as NonNullable<T>[]));
const listOf = <T>(values: readonly T[]) => fc.array(some(values), { minLength: 1, maxLength: 3 });

/** [low, high], as PostgreSQL sorts them. */
function range<T>(values: readonly T[]) {
  const sorted = (a: unknown, b: unknown) =>
    typeof a === "number" ? a - (b as number) : Buffer.compare(Buffer.from(`${a}`), Buffer.from(`${b}`));
  return fc.tuple(some(values), some(values)).map((ends) => ends.sort(sorted));
}

const nothing = fc.constant(undefined);
/** Of a time 0 is refused. */
const days = fc.constantFrom(1, 7, 120, 366, 36500);
const texts = fc.constantFrom("a", "ANN", "%", "_", "\\", "a_b", "off", "ë");
const patterns = fc.constantFrom("*", "%a%", "A*", "a_b", "a\\_b", "*\\%*", "*\\", "*k\\\\s*", "b", "\\*");
const calendar = some([...DATES, "2027-03-02"]);
const moments = fc.oneof(some(TIMES), calendar);

const presence = { is_set: nothing, is_not_set: nothing, is: fc.constantFrom("not_null", null) };
const ordered = <T>(values: readonly T[], one: fc.Arbitrary<unknown> = some(values)) => ({
  eq: one,
  neq: one,
  gt: one,
  gte: one,
  lt: one,
  lte: one,
  between: range(values),
  not_between: range(values),
});
const among = <T>(values: readonly T[]) => ({ in: listOf(values), not_in: listOf(values) });
const looks = {
  like: patterns,
  ilike: patterns,
  contains: texts,
  not_contains: texts,
  starts_with: texts,
  ends_with: texts,
  is_empty: nothing,
};
const sets = { has_any: listOf(TAGS), has_all: listOf(TAGS), has_none: listOf(TAGS) };
const dated = {
  in_last_days: days,
  not_in_last_days: days,
  in_next_days: days,
  on_day: calendar,
  anniversary_in_next_days: days,
};
const tierRange = fc
  .tuple(some(ORDERED_TIERS), some(ORDERED_TIERS))
  .map((ends) => ends.sort((a, b) => ORDERED_TIERS.indexOf(a) - ORDERED_TIERS.indexOf(b)));
const spans = { ...ordered(TIMES, moments), before: moments, after: moments, ...dated };
const counts = { ...ordered([0, 1, 2, 3]), ...among([0, 1, 3]) };
const sums = { ...ordered([0, 2.5, 10, -2.5]), ...among([0, 5, 100]) };

/** The operators' values as {op, n, within_days}. */
function windows(operators: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  const asks = Object.entries(operators).map(([op, values]) =>
    fc.record(
      { op: fc.constant(op), n: values, within_days: fc.constantFrom(0, 1, 30, 3650) },
      { requiredKeys: ["op", "n"] },
    ),
  );
  return fc.oneof(...asks);
}

const bucket = fc.record({ percent: fc.constantFrom(0, 12.5, 50, 100), salt: fc.constantFrom("a", "ß") });

function fields(segment: string): Record<string, Record<string, fc.Arbitrary<unknown>>> {
  const truth = { eq: fc.boolean(), neq: fc.boolean(), is: fc.boolean() };
  return {
    first_name: { ...ordered(NAMES), ...among(NAMES), ...looks, ...presence },
    tier: {
      ...ordered(ORDERED_TIERS),
      ...among(TIERS),
      ...looks,
      ...presence,
      eq: some(TIERS),
      neq: some(TIERS),
      between: tierRange,
      not_between: tierRange,
    },
    adt: { ...ordered(NUMBERS), ...among(NUMBERS), ...presence },
    birth_date: {
      ...ordered(DATES),
      ...among(DATES),
      before: calendar,
      after: calendar,
      ...dated,
      ...presence,
    },
    last_visit_at: { ...ordered(TIMES, moments), before: moments, after: moments, ...dated, ...presence },
    legal_hold: truth,
    tags: { ...sets, is_empty: nothing },
    "consent.sms": { ...presence, ...truth, is: fc.constantFrom("not_null", null, true, false) },
    "custom.t": { ...ordered(CUSTOM_TEXTS), ...among(CUSTOM_TEXTS), ...looks, ...presence },
    "custom.n": { ...ordered(CUSTOM_NUMBERS), ...among(CUSTOM_NUMBERS), ...presence },
    "custom.b": { ...presence, ...truth, is: fc.constantFrom("not_null", null, true, false) },
    "custom.l": { ...sets, is_empty: nothing, ...presence },
    "custom.d": { ...ordered(CUSTOM_DATES), ...among(CUSTOM_DATES), ...dated, ...presence },
    "custom.i": { ...ordered(TIMES, moments), before: moments, after: moments, ...dated, ...presence },
    "event.spin.count": { ...counts, ...presence, is: windows(counts) },
    "event.visit.count": { ...counts, is: windows(counts) },
    "event.spin.sum:amount": { ...sums, is: windows(sums) },
    "event.spin.last_at": { ...spans, ...presence, is: fc.oneof(presence.is, windows(spans)) },
    "event.spin.first_at": { ...spans, ...presence, is: fc.oneof(presence.is, windows(spans)) },
    "suppressed.sms": truth,
    [`segment.${segment}`]: { ...truth, in_segment: nothing, not_in_segment: nothing },
    id: { random_bucket: bucket },
    player_id: { random_bucket: bucket },
  };
}

function rules(segment: string): fc.Arbitrary<Partial<Group>> {
  const rows = Object.entries(fields(segment)).map(([field, operators]) => {
    const plain = Object.entries(operators).map(([operator, values]) =>
      values.map((value) => (value === undefined ? { operator } : { operator, value })),
    );
    const negated = fc.oneof(...plain).map((value) => ({ operator: "not", value }));
    return fc
      .oneof({ weight: 6, arbitrary: fc.oneof(...plain) }, { weight: 1, arbitrary: negated })
      .map((row) => ({ field, ...row }) as Condition);
  });
  const group = fc.letrec<{ group: Group }>((tie) => ({
    group: fc.record(
      {
        logic: fc.constantFrom("and", "or"),
        conditions: fc.array(fc.oneof(...rows), { minLength: 1, maxLength: 4 }),
        groups: fc.array(tie("group"), { maxLength: 2, depthIdentifier: "group" }),
      },
      { requiredKeys: ["logic", "conditions"] },
    ),
  }));
  return group.group;
}
