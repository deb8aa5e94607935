import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Scheduler, startScheduler } from "#runtime/jobs/scheduler.ts";
import type { Job } from "#runtime/operation/job.ts";
import { openWorkers, testJob } from "./worker-processes.ts";

let fixture: Awaited<ReturnType<typeof openWorkers>>;
let schedulers: Scheduler[] = [];
beforeAll(async () => {
  fixture = await openWorkers();
});
beforeEach(() => fixture.db.asSystem((sql) => sql`with q as (delete from queue) delete from schedule_ticks`));
afterEach(async () => {
  await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
  schedulers = [];
});
afterAll(() => fixture.close());

const everySecond = testJob("sweep", undefined, { every: "* * * * * *" });

async function start(jobs: Job<{ n: number }>[]) {
  const { db } = await fixture.process();
  schedulers.push(startScheduler({ db, jobs, log: fixture.log }));
}

function ticks() {
  return fixture.db.asSystem(
    (sql) => sql<{ name: string; tick: string; early: boolean }[]>`
      select name, tick, tick > clock_timestamp() as early from schedule_ticks order by tick`,
  );
}

test("a tick puts its job on the queue once, though three schedulers see it", async () => {
  await Promise.all([start([everySecond]), start([everySecond]), start([everySecond])]);
  let runs = 0;
  const worker = await fixture.worker([testJob("sweep", async () => void runs++)]);
  await vi.waitFor(async () => expect((await ticks()).length).toBeGreaterThanOrEqual(3), 20_000);
  await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
  await worker.idle();
  expect(runs).toBe((await ticks()).length);
  await worker.stop();
});

test("ticks lie on the pattern, by the database's clock, and never before their time", async () => {
  await start([everySecond]);
  await vi.waitFor(async () => expect((await ticks()).length).toBeGreaterThanOrEqual(2), 20_000);
  const [first, second] = await ticks();
  expect(first!.tick).toMatch(/:\d\d\+00:00$/);
  expect(Date.parse(second!.tick) - Date.parse(first!.tick)).toBe(1_000);
  expect((await ticks()).some((tick) => tick.early)).toBe(false);
});

test("a process whose own clock is ahead fires nothing early", async () => {
  const ahead = vi
    .spyOn(Date, "now")
    .mockImplementation(() => performance.timeOrigin + performance.now() + 600_000);
  try {
    await start([everySecond]);
    await vi.waitFor(async () => expect((await ticks()).length).toBeGreaterThanOrEqual(1), 20_000);
    expect((await ticks()).some((tick) => tick.early)).toBe(false);
  } finally {
    ahead.mockRestore();
  }
});

test("ticks that passed while every process was down are left out", async () => {
  await fixture.db.asSystem(
    (sql) =>
      sql`insert into schedule_ticks values ('sweep', date_trunc('second', now()) - interval '10 seconds')`,
  );
  await start([everySecond]);
  await vi.waitFor(async () => expect((await ticks()).length).toBeGreaterThanOrEqual(3), 20_000);
  const [old, first] = (await ticks()).map(({ tick }) => Date.parse(tick));
  expect(first! - old!).toBeGreaterThanOrEqual(10_000);
});

test("old ticks are removed, and a worker that is behind finds one job of the schedule, not all", async () => {
  await fixture.db.asSystem(
    (sql) => sql`insert into schedule_ticks values ('retired_job', now() - interval '2 days')`,
  );
  await start([everySecond, testJob("no_schedule")]);
  await vi.waitFor(async () => {
    expect((await ticks()).filter(({ name }) => name === "sweep").length).toBeGreaterThanOrEqual(3);
  }, 20_000);
  expect((await ticks()).map(({ name }) => name)).not.toContain("retired_job");
  expect((await fixture.rows()).map(({ name }) => name)).toEqual(["sweep"]);
});

test("only a job with a schedule is put on the queue", async () => {
  await start([testJob("no_schedule")]);
  await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
  expect(await fixture.rows()).toEqual([]);
});
