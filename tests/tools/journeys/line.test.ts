import fc from "fast-check";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stepSoon } from "#tools/enrollments/jobs.ts";
import { placeInLine } from "#tools/journeys/steps/line.ts";
import { step } from "#tools/journeys/steps/step.ts";
import { runNext } from "../../support/job-runner.ts";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { chain, type JourneyClock, journeyClock } from "./clock.ts";

const PLAYERS = isFull ? 200 : 40;
const RUNS = isFull ? 50 : 2;
const HOUR = 60;
const DAY = 24 * HOUR;

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

interface Limit {
  most: number;
  per: "minute" | "hour" | "day";
}

const end = { id: "end", type: "exit", config: {} };
const slow = (config: Limit) => chain([{ id: "slow", type: "rate_limit", config }, end]);
const MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

const limits = fc.record({
  most: fc.integer({ min: 1, max: 30 }),
  per: fc.constantFrom("minute", "hour", "day"),
}) as fc.Arbitrary<Limit>;

/** A step of the workers, the minutes after the last one, and a new version before it. */
const steps = fc.record({
  minutes: fc.oneof(
    fc.double({ min: 0, max: 0.2, noNaN: true }),
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: HOUR, max: 2 * DAY }),
  ),
  version: fc.option(
    fc.record({ limit: limits, onPublish: fc.constantFrom("finish_old", "move_matching_nodes") }),
    {
      freq: 6,
    },
  ),
  /** Milliseconds that the second worker's time is behind the first one's. */
  behind: fc.constantFrom(0, 0, 800, 5_000),
  enters: fc.boolean(),
});

interface Pass {
  player: string;
  came: number;
  passed: number;
}

/** Those who have passed, in the order of their coming into the line. */
async function passes(clock: JourneyClock, journey: string): Promise<Pass[]> {
  const { scenario } = clock;
  return scenario.query(
    (sql) => sql<Pass[]>`
      select player_id as player, (extract(epoch from path_at[2]) * 1000)::double precision as came,
        (extract(epoch from ended_at) * 1000)::double precision as passed
      from journey_enrollments
      where property_id = ${scenario.id} and journey_id = ${journey} and status = 'completed'
      order by path_at[2], player_id`,
  );
}

test(
  "in no minute, hour or day more pass than the limit: two workers at once, behind outages, by new versions",
  async () => {
    const clock = await journeyClock(service);
    await clock.scenario.crowd(PLAYERS);
    const players = await clock.scenario.query(
      (sql) =>
        sql<{ id: string }[]>`select id from players where property_id = ${clock.scenario.id} order by id`,
    );
    let journeys = 0;
    const run = fc.asyncProperty(
      limits,
      fc.array(steps, { minLength: 15, maxLength: 20 }),
      async (first, walk) => {
        journeys += 1;
        const journey = await clock.published(slow(first), { name: `J${journeys}` });
        const waiting = players.map(({ id }) => id);
        let limit = first;
        const seen = new Set<string>();
        await clock.enroll(journey, waiting.splice(0, PLAYERS / 2));
        for (const { minutes, version, behind, enters } of walk) {
          clock.put(minutes);
          const now = Date.parse(clock.at());
          if (version) {
            await clock.republish(journey, slow(version.limit), { onPublish: version.onPublish });
            limit = version.limit;
          }
          if (enters && waiting.length > 0) await clock.enroll(journey, waiting.splice(0, 3));
          const late = new Date(now - behind).toISOString();
          const worker = (at: string) =>
            clock.work(async (context) => {
              while ((await step(context, journey, at)) > 0) {}
            });
          await Promise.all([worker(clock.at()), worker(late)]);
          const all = await passes(clock, journey);
          const { most, per } = limit;
          for (const { player, passed } of all) {
            if (seen.has(player)) continue;
            // Also those who passed by another worker's time a little later.
            const within = all.filter((one) => one.passed > passed - MS[per]).length;
            expect({ most, per, people: Math.min(within, most) }).toEqual({ most, per, people: within });
          }
          for (const { player } of all) seen.add(player);
        }
        expect(await clock.verify(journey)).toMatchObject({ ok: true });
      },
    );
    await fc.assert(run, { numRuns: RUNS, endOnFailure: true });
  },
  isFull ? 1_800_000 : 180_000,
);

test("behind an outage a long line passes at its pace, in the order of its coming, without a burst", async () => {
  const clock = await journeyClock(service);
  const { scenario } = clock;
  await scenario.crowd(300);
  const { id: segmentId } = await scenario.call("create_segment", {
    name: "All",
    type: "dynamic",
    conditions: [{ field: "email", operator: "is_set" }],
  });
  const journey = await clock.published(slow({ most: 120, per: "hour" }));
  await scenario.call("enroll_players", { journeyId: journey, propertyId: scenario.id, segmentId });
  await clock.pass(1, journey);
  const through = async () => (await passes(clock, journey)).length;
  expect(await through()).toBe(1);
  // Nobody steps for five hours: a minute's share and the next one pass at once, then one each half a minute.
  await clock.pass(5 * HOUR, journey);
  expect(await through()).toBe(1 + 3);
  for (let minute = 1; minute <= 60; minute += 1) await clock.pass(1, journey);
  expect(await through()).toBe(1 + 3 + 2 * 60);
  expect((await clock.report(journey)).overdue).toBe(0);
  const passed = await passes(clock, journey);
  expect(passed.map((one) => one.passed)).toEqual(passed.map((one) => one.passed).toSorted((a, b) => a - b));
});

test("a worker that comes while another lets people through waits for it, and lets nobody through beside it", async () => {
  const clock = await journeyClock(service);
  await clock.scenario.crowd(4);
  const players = await clock.scenario.query(
    (sql) => sql<{ id: string }[]>`select id from players where property_id = ${clock.scenario.id}`,
  );
  const journey = await clock.published(slow({ most: 1, per: "hour" }));
  await clock.enroll(
    journey,
    players.map(({ id }) => id),
  );
  // All stand in line, and the first has passed.
  await clock.pass(1, journey);
  clock.put(HOUR);
  const entered = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const first = clock.work(async (context) => {
    await step(context, journey, clock.at());
    entered.resolve();
    await commit.promise;
  });
  await entered.promise;
  const second = clock.work((context) => step(context, journey, clock.at()));
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  await lockWaits(admin, 1);
  commit.resolve();
  await Promise.all([first, second, admin.end()]);
  expect(await passes(clock, journey)).toHaveLength(2);
});

test("the first of a line, or a player who is due, in another transaction's hands lets the job come again a second later", async () => {
  const clock = await journeyClock(service);
  const { scenario } = clock;
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  const journey = await clock.published(slow({ most: 1, per: "minute" }));
  await clock.enroll(journey, [await scenario.player({ email: "eve@example.com" })]);
  const heldAt = async (place: object) => {
    const held = await openTransaction(
      admin,
      (sql) => sql`
        select from journey_enrollments where property_id = ${scenario.id} and journey_id = ${journey} for update`,
    );
    expect(await clock.entries(journey)).toMatchObject([place]);
    const [before] = await clock.queue((sql) => sql`select (now() + interval '1 second')::text as at`);
    await clock.work(async (context) => stepSoon(context, journey));
    await runNext(service, scenario.id, { only: "step_journey" });
    const jobs = await clock.queue(
      (sql) => sql`
        select (run_at >= ${before!}::timestamptz)::text as at from queue
        where name = 'step_journey' and property_id = ${scenario.id} and state = 'ready'`,
    );
    expect({ place, jobs }).toEqual({ place, jobs: ["true"] });
    await held();
  };
  await heldAt({ node: "in", phase: "ready" });
  // The line is full, so the player stands in it.
  const book = (passes: [number, number][]) =>
    scenario.query(
      (sql) => sql`
        update journey_limits set book = ${{ pacedAt: null, passes }}::jsonb
        where property_id = ${scenario.id} and journey_id = ${journey}`,
    );
  await book([[Date.now() * 1_000, 1]]);
  await clock.job(journey);
  await book([]);
  await heldAt({ node: "slow", phase: "in_line" });
  await clock.queue(
    (sql) => sql`
      update queue set run_at = now() where name = 'step_journey' and property_id = ${scenario.id} returning null as at`,
  );
  await runNext(service, scenario.id, { only: "step_journey" });
  expect(await clock.entries(journey)).toMatchObject([{ status: "completed" }]);
  await admin.end();
});

test("a lower limit of a new version counts those who have passed, also for players of the old version", async () => {
  const clock = await journeyClock(service);
  await clock.scenario.crowd(12);
  const players = await clock.scenario.query(
    (sql) => sql<{ id: string }[]>`select id from players where property_id = ${clock.scenario.id}`,
  );
  const journey = await clock.published(slow({ most: 12, per: "hour" }));
  await clock.enroll(
    journey,
    players.map(({ id }) => id),
  );
  await clock.pass(1, journey);
  for (let part = 0; part < 4; part += 1) await clock.pass(5, journey);
  const through = async () => (await passes(clock, journey)).length;
  expect(await through()).toBe(5);
  // They passed at 1, 6, 11, 16 and 21 minutes. Two an hour: the next one at 76, when but one is left in the hour.
  await clock.republish(journey, slow({ most: 2, per: "hour" }));
  await clock.pass(54, journey);
  expect(await through()).toBe(5);
  await clock.pass(1, journey);
  expect(await through()).toBe(6);
  await clock.pass(28, journey);
  expect(await through()).toBe(6);
  await clock.pass(1, journey);
  expect(await through()).toBe(7);
});

test("a player in line is told the place and the earliest time", async () => {
  const clock = await journeyClock(service);
  const ids = [];
  for (const player_id of ["ana", "ben", "cora"])
    ids.push(await clock.scenario.player({ player_id, email: `${player_id}@example.com` }));
  const journey = await clock.published(slow({ most: 2, per: "hour" }));
  for (const id of ids) {
    await clock.enroll(journey, [id]);
    await clock.pass(1, journey);
  }
  const explained = await clock.scenario.call("explain_enrollment", {
    propertyId: clock.scenario.id,
    journeyId: journey,
    playerId: ids[2],
  });
  const [first] = await passes(clock, journey);
  expect(explained.why).toContain("The player is number 2 in the line at slow");
  expect(Math.round((Date.parse(explained.until) - first!.passed) / 1_000)).toBe(3600);
  expect(explained.enrollment).toMatchObject({ phase: "in_line", wake_at: null });
});

test("a player who passes while the question is answered has no place in line", async () => {
  const clock = await journeyClock(service);
  const journey = await clock.published(slow({ most: 2, per: "hour" }));
  await clock.enroll(journey, [await clock.scenario.player({ email: "dora@example.com" })]);
  await clock.pass(1, journey);
  const [{ id }] = await clock.scenario.query(
    (sql) =>
      sql<[{ id: string }]>`select id from journey_enrollments where property_id = ${clock.scenario.id}`,
  );
  const read = { id, journey_id: journey, current_node_id: "slow" };
  expect(await clock.work((context) => placeInLine(context, read))).toBeNull();
});
