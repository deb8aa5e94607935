import fc from "fast-check";
import { expect, test } from "vitest";
import { allowed, type Book, type Limit, nextAt, noted, putBack } from "#tools/journeys/steps/pace.ts";
import { randomBy } from "./random.ts";

const SECOND = 1_000_000;
const PERIODS = [60, 3600, 86_400].map((seconds) => seconds * SECOND);
const START = Date.parse("2027-03-01T00:00:00Z") * 1_000;

const limits = fc.record({
  most: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_000_000 })),
  period: fc.constantFrom(...PERIODS),
});

/** A span in which much may happen, of some microseconds or of days. */
const spans = fc.oneof(
  fc.integer({ min: 0, max: SECOND }),
  fc.integer({ min: 0, max: 90 * SECOND }),
  fc.integer({ min: 0, max: 2 * 3600 * SECOND }),
  fc.integer({ min: 0, max: 3 * 86_400 * SECOND }),
);

/** A look at a line that is never empty: so long after the last one, and the share of the allowed who pass. */
const looks = fc.record({
  after: spans,
  share: fc.constantFrom(0, 0.5, 1, 1, 1),
  /** The line is this old. */
  age: fc.oneof(fc.constant(0), spans),
  /** The limit of a new version. */
  change: fc.option(limits, { freq: 8 }),
  /** How far this worker's time is behind the others'. */
  behind: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5 * SECOND })),
  /** How far the clock is put back before. */
  back: fc.option(spans, { freq: 8 }),
});

/** The plain list of all who have passed, each with the clock's time and the time that has really gone by. */
interface Pass {
  clock: number;
  real: number;
  people: number;
}

function walk(
  first: Limit,
  steps: {
    after: number;
    share: number;
    age: number;
    change: Limit | null;
    behind: number;
    back: number | null;
  }[],
  check: (passes: Pass[], limit: Limit, at: { clock: number; real: number }, book: Book) => void,
) {
  let limit = first;
  let book: Book = { pacedAt: null, passes: [] };
  let [clock, real] = [START, START];
  const passes: Pass[] = [];
  for (const { after, share, age, change, behind, back } of steps) {
    limit = change ?? limit;
    clock += after - (back ?? 0);
    real += after;
    const look = { now: clock - behind, since: clock - behind - age, tick: 0 };
    book = putBack(book, limit, look.now);
    const most = allowed(book, limit, look);
    const people = Math.min(most, Math.ceil(most * share));
    if (people === 0) continue;
    book = noted(book, limit, look, people);
    passes.push({ clock: look.now, real, people });
    check(passes, limit, { clock: look.now, real }, book);
  }
}

const sum = (passes: readonly Pass[]) => passes.reduce((total, { people }) => total + people, 0);

test("in no period more pass than the limit, behind outages, late workers and new limits", () => {
  const steady = looks.map((one) => ({ ...one, back: null }));
  fc.assert(
    fc.property(limits, fc.array(steady, { minLength: 1, maxLength: 60 }), (first, steps) =>
      walk(first, steps, (passes, { most, period }, { clock }, book) => {
        expect(sum(passes.filter((pass) => pass.clock > clock - period))).toBeLessThanOrEqual(most);
        expect(book.passes.length).toBeLessThanOrEqual(131);
      }),
    ),
    { numRuns: 2_000 },
  );
});

test("in no period that has really gone by more pass than the limit, though the clock is put back", () => {
  const back = looks.map((one) => ({ ...one, behind: 0 }));
  fc.assert(
    fc.property(limits, fc.array(back, { minLength: 1, maxLength: 60 }), (first, steps) =>
      walk(first, steps, (passes, { most, period }, { real }) => {
        expect(sum(passes.filter((pass) => pass.real > real - period))).toBeLessThanOrEqual(most);
      }),
    ),
    { numRuns: 2_000 },
  );
});

test("two workers whose clocks are five seconds apart let no more pass at one time, however often they look", () => {
  const limit = { most: 60, period: 60 * SECOND };
  let book: Book = { pacedAt: null, passes: [] };
  let passed = 0;
  for (let looked = 0; looked < 200; looked += 1) {
    const now = START - (looked % 2) * 5 * SECOND;
    const look = { now, since: now - 3600 * SECOND, tick: 0 };
    book = putBack(book, limit, now);
    const people = allowed(book, limit, look);
    if (people > 0) book = noted(book, limit, look, people);
    passed += people;
  }
  // One, and one who catches up.
  expect(passed).toBe(2);
});

test("a clock that was put back by a year holds the line up for a period at most", () => {
  fc.assert(
    fc.property(limits, fc.array(looks, { minLength: 1, maxLength: 20 }), (limit, steps) => {
      let book: Book = { pacedAt: null, passes: [] };
      let now = START;
      for (const { after } of steps) {
        now += after;
        const look = { now, since: START, tick: 0 };
        const people = allowed(book, limit, look);
        if (people > 0) book = noted(book, limit, look, people);
      }
      now -= 365 * 86_400 * SECOND;
      const after = putBack(book, limit, now);
      expect(nextAt(after, limit, { now, tick: 0 }) - now).toBeLessThanOrEqual(limit.period);
    }),
  );
});

test("the time of the next pass is the first at which one person may pass", () => {
  fc.assert(
    fc.property(limits, fc.array(looks, { minLength: 1, maxLength: 30 }), (first, steps) =>
      walk(first, steps, (_, limit, { clock: now }, book) => {
        const at = nextAt(book, limit, { now, tick: 0 });
        const open = (time: number) => allowed(book, limit, { now: time, since: now, tick: 0 });
        expect(open(at)).toBeGreaterThanOrEqual(1);
        if (at > now) expect(open(at - 1)).toBe(0);
      }),
    ),
  );
});

test("a long line passes evenly, and hardly slower than its limit, however irregular the looks", () => {
  const limit = fc.record({
    most: fc.integer({ min: 60, max: 100_000 }),
    period: fc.constantFrom(...PERIODS),
  });
  fc.assert(
    fc.property(limit, fc.integer(), (one, seed) => {
      const random = randomBy(seed);
      const catchUp = Math.floor(one.period / 60);
      const apart = Math.ceil(one.period / one.most);
      let book: Book = { pacedAt: null, passes: [] };
      let [now, passed] = [START, 0];
      for (const end = START + 3 * one.period; now < end; ) {
        const look = { now, since: START, tick: 0 };
        const people = allowed(book, one, look);
        expect(people).toBeLessThanOrEqual(catchUp / apart + 1);
        if (people > 0) book = noted(book, one, look, people);
        passed += people;
        now += 1 + Math.floor(random() * catchUp);
      }
      expect(passed).toBeGreaterThan(3 * one.most * 0.97 - 2);
    }),
    { numRuns: 30 },
  );
});
