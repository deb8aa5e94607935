import { afterAll, beforeAll, expect, test } from "vitest";
import { step, stepVersion } from "#tools/journeys/steps/step.ts";
import { liveVersions } from "#tools/journeys/steps/version.ts";
import { startService, type TestService } from "../../support/service.ts";
import { chain, journeyClock } from "./clock.ts";

const HOUR = 60;
const DAY = 24 * HOUR;
const SLOW = chain([
  { id: "slow", type: "rate_limit", config: { most: 1, per: "hour" } },
  { id: "end", type: "exit", config: {} },
]);

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

test("the first to come passes first, one who leaves takes nobody's place, and a clock that is put back ends no line", async () => {
  const clock = await journeyClock(service);
  const { scenario } = clock;
  const ids: string[] = [];
  for (const player_id of ["ana", "ben", "cora", "dora", "eve"])
    ids.push(await scenario.player({ player_id, email: `${player_id}@example.com` }));
  const journey = await clock.published(SLOW);
  await clock.enroll(journey, ids);
  await clock.pass(1, journey);
  const through = async () => {
    const passed = await scenario.query(
      (sql) => sql<{ id: string }[]>`
        select player_id as id from journey_enrollments
        where property_id = ${scenario.id} and journey_id = ${journey} and status = 'completed' order by ended_at`,
    );
    return passed.map(({ id }) => ids.indexOf(id));
  };
  expect(await through()).toEqual([0]);
  await scenario.query(
    (sql) => sql`
      update journey_enrollments set arrived_at = arrived_at - interval '1 second'
      where property_id = ${scenario.id} and journey_id = ${journey} and player_id = ${ids[2]!}`,
  );
  clock.put(HOUR);
  // No index puts the line in order here: the statement asks for it.
  await clock.work(async (context) => {
    await context.sql`select set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`;
    await step(context, journey, clock.at());
  });
  expect(await through()).toEqual([0, 2]);
  await scenario.query(
    (sql) =>
      sql`update players set status = 'self_excluded' where property_id = ${scenario.id} and id = ${ids[1]!}`,
  );
  await clock.pass(HOUR, journey);
  expect(await through()).toEqual([0, 2, 3]);
  clock.put(-3 * DAY);
  await clock.pass(0, journey);
  await clock.pass(HOUR, journey);
  expect(await clock.entries(journey)).toMatchObject([
    {},
    { status: "exited" },
    {},
    {},
    { status: "completed" },
  ]);
});

test("a clock with ticks longer than the period of a limit lets those of the whole tick pass", async () => {
  const clock = await journeyClock(service);
  const { scenario } = clock;
  const ids: string[] = [];
  for (let n = 0; n < 6; n += 1) ids.push(await scenario.player({ email: `tick${n}@example.com` }));
  const journey = await clock.published(SLOW);
  await clock.enroll(journey, ids);
  const look = async () => {
    await clock.work(async (context) => {
      const [version] = await liveVersions(context, journey);
      const moving = { most: 1_000, isTimed: false, tick: 3 * 3_600 };
      while ((await stepVersion(context, version!, clock.at(), moving)) > 0) {}
    });
    return (await clock.entries(journey)).filter(({ status }) => status === "completed").length;
  };
  clock.put(1);
  expect(await look()).toBe(1);
  clock.put(3 * HOUR);
  expect(await look()).toBe(4);
});
