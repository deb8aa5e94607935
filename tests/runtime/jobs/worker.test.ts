import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Database } from "#db/database.ts";
import { claim, queueNotifier, reap } from "#runtime/jobs/queue.ts";
import type { Worker } from "#runtime/jobs/worker.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { openWorkers, testJob } from "./worker-processes.ts";

let fixture: Awaited<ReturnType<typeof openWorkers>>;
let workers: Worker[] = [];
beforeAll(async () => {
  fixture = await openWorkers();
});
beforeEach(() => fixture.db.asSystem((sql) => sql`delete from queue`));
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop({ graceMs: 0 })));
  workers = [];
});
afterAll(() => fixture.close());

const start: typeof fixture.worker = async (...options) => {
  const worker = await fixture.worker(...options);
  workers.push(worker);
  return worker;
};

/** A promise that the test settles, for handlers that last as long as the test wants. */
function gate() {
  return Promise.withResolvers<void>();
}

test("each of 2,000 jobs is run once by one of two workers", async () => {
  const ran: number[] = [];
  const send = testJob("send", async (_, { n }) => void ran.push(n));
  await fixture.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, property_id, input, max_attempts)
      select uuid_v7(), 'send', case when n % 2 = 0 then ${fixture.property}::uuid else ${fixture.rival} end,
        jsonb_build_object('n', n), 3
      from generate_series(1, 2000) as n`,
  );
  const [one, other] = await Promise.all([start([send]), start([send])]);
  await Promise.all([one!.idle(), other!.idle()]);
  expect(ran).toHaveLength(2_000);
  expect(new Set(ran).size).toBe(2_000);
  expect(await fixture.rows()).toEqual([]);
});

test("a failing job is tried again until its last attempt, and is kept dead with its error", async () => {
  const attempts: { attempt: number; isLast: boolean }[] = [];
  const send = testJob(
    "send",
    async ({ attempt, isLast }) => {
      attempts.push({ attempt, isLast });
      throw new Error(`refused ${attempt}`);
    },
    { attempts: 2 },
  );
  await start([send]);
  await fixture.put(send);
  await vi.waitFor(async () => expect((await fixture.rows())[0]?.state).toBe("dead"), 20_000);
  expect(attempts).toEqual([
    { attempt: 1, isLast: false },
    { attempt: 2, isLast: true },
  ]);
  expect((await fixture.rows())[0]!.last_error).toBe("Error: refused 2");
});

test("a transaction that takes too long spends an attempt, and the dead job says so", async () => {
  const attempts: number[] = [];
  const slow = testJob(
    "slow",
    async ({ attempt, transactSystem }) => {
      attempts.push(attempt);
      await transactSystem(async (sql) => {
        await sql`set local statement_timeout = 1`;
        await sql`select pg_sleep(60)`;
      });
    },
    { attempts: 2 },
  );
  await start([slow]);
  await fixture.put(slow);
  await vi.waitFor(async () => expect((await fixture.rows())[0]?.state).toBe("dead"), 20_000);
  expect(attempts).toEqual([1, 2]);
  const [row] = await fixture.rows();
  expect(row).toMatchObject({ attempts: 2, interruptions: 0 });
  expect(row!.last_error).toBe(
    "Fault: A transaction of the job slow took longer than its 60 seconds and was rolled back. Look for slow statements and held locks in PostgreSQL, then run it again.",
  );
});

test("a delayed job runs at its time, not before it and not at the next poll", async () => {
  const late: number[] = [];
  const send = testJob("send", ({ transactSystem, jobId }) =>
    transactSystem(async (sql) => {
      const [row] = await sql<{ late: number }[]>`
        select extract(epoch from clock_timestamp() - run_at)::float8 as late from queue where id = ${jobId}`;
      late.push(row!.late);
    }),
  );
  const worker = await start([send]);
  // By the poll, a second after it was put, each would be late by 0.9 s. One that is not will do on a busy machine.
  for (let tries = 0; tries < 10 && !late.some((seconds) => seconds < 0.6); tries++) {
    await fixture.put(send, 0, { runAt: 0.1 });
    await vi.waitFor(() => expect(late).toHaveLength(tries + 1), 20_000);
    await worker.idle();
  }
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
  expect(Math.min(...late)).toBeLessThan(0.6);
});

test("a worker is woken by a process that only enqueues", async () => {
  let starts = 0;
  let asked = 0;
  let woken = 0;
  const send = testJob("send", async () => void starts++);
  const { db } = await fixture.process();
  const asSystem: Database["asSystem"] = (work, options) => {
    asked++;
    return db.asSystem(work, options);
  };
  const listen: Database["listen"] = (channel, onNotify, onReconnect) => {
    const hear = (payload: string) => {
      const before = asked;
      onNotify(payload);
      setImmediate(() => {
        if (asked > before) woken++;
      });
    };
    return db.listen(channel, hear, onReconnect);
  };
  const worker = await start([send], { db: { ...db, asSystem, listen } });
  await worker.idle();
  const { notify } = queueNotifier(fixture.db, fixture.log);
  for (let times = 1; times <= 3; times++) {
    await fixture.db.asSystem(
      (sql) => sql`insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'send', '{}', 1)`,
    );
    notify();
    await vi.waitFor(() => expect(starts).toBe(times), { interval: 5, timeout: 20_000 });
    await worker.idle();
  }
  // Now and then it was asking already.
  expect(woken).toBeGreaterThan(0);
});

test("a worker that stops has told the others of the jobs for which it had no room", async () => {
  const [begun, go, told] = [gate(), gate(), gate()];
  const send = testJob("send", async () => {
    begun.resolve();
    await go.promise;
  });
  const { db } = await fixture.process();
  let hasStopped = false;
  const ends = () => vi.waitFor(() => expect(hasStopped).toBe(true), { interval: 5, timeout: 1_000 });
  let holdsNext = false;
  const asSystem: Database["asSystem"] = async (work, options) => {
    const isHeld = holdsNext;
    holdsNext = false;
    if (isHeld) await ends().then(() => told.reject(new Error("it stopped before")), told.resolve);
    return db.asSystem(work, options);
  };
  await fixture.put(send);
  const worker = await start([send], { db: { ...db, asSystem }, concurrency: 1 });
  await begun.promise;
  holdsNext = true;
  worker.wake();
  expect(holdsNext).toBe(false);
  go.resolve();
  const stopping = worker.stop().then(() => {
    hasStopped = true;
  });
  await Promise.all([told.promise, stopping]);
});

test("a job's events, jobs and rows are written together, and the new job is run", async () => {
  const ran: unknown[] = [];
  const second = testJob("second", async ({ propertyId }, { n }) => void ran.push({ propertyId, n }));
  const first = testJob(
    "first",
    async ({ transact }, { n }) => {
      await transact(async ({ sql, property, call, enqueue }) => {
        expect(call).toMatchObject({ transport: "job", actor: { type: "system" } });
        await sql`
        insert into segments (property_id, name) values (${property.id}, ${`by job ${n}`})`;
        enqueue(second, { n });
        if (n === 2) throw new Error("changed its mind");
      });
    },
    { attempts: 1 },
  );
  const worker = await start([first, second]);
  await fixture.put(first, 1, { propertyId: fixture.property });
  await fixture.put(first, 2, { propertyId: fixture.property });
  await worker.idle();
  expect(ran).toEqual([{ propertyId: fixture.property, n: 1 }]);
  const segments = await fixture.db.asProperty(
    fixture.property,
    (sql) => sql`select name from segments where property_id = ${fixture.property} and name like 'by job %'`,
  );
  expect(segments.map((row) => row.name)).toEqual(["by job 1"]);
});

test("a job of one property sees nothing of another's", async () => {
  const seen: number[] = [];
  const look = testJob("look", ({ transact }) =>
    transact(async ({ sql }) => {
      seen.push((await sql`select 1 from templates`).length);
    }),
  );
  await fixture.db.asProperty(
    fixture.rival,
    (sql) => sql`insert into templates (property_id, name) values (${fixture.rival}, 'Secret')`,
  );
  const worker = await start([look]);
  await fixture.put(look, 0, { propertyId: fixture.property });
  await worker.idle();
  expect(seen).toEqual([0]);
});

test("a lost worker's job is run again once its lease is over", async () => {
  const attempts: number[] = [];
  const send = testJob("send", async ({ attempt }) => void attempts.push(attempt));
  await fixture.put(send);
  await claim(fixture.db, {
    sending: [],
    names: ["send"],
    limit: 1,
    lease: randomUUID(),
    leaseMs: 200,
    cap: 1,
    held: new Map(),
  });
  await start([send], { leaseMs: 3_000 });
  await vi.waitFor(() => expect(attempts).toEqual([2]), 20_000);
});

test("a long job stays with its worker while that is alive", async () => {
  const { promise, resolve } = gate();
  let starts = 0;
  const send = testJob("send", async () => {
    starts++;
    await promise;
  });
  await fixture.put(send);
  const [worker] = await Promise.all([start([send], { leaseMs: 3_000 }), start([send], { leaseMs: 3_000 })]);
  const lease = async () => {
    const [row] = await fixture.db.asSystem(
      (sql) =>
        sql<{ until: string }[]>`select leased_until::text as until from queue where state = 'running'`,
    );
    return row?.until;
  };
  const seen = new Set<string | undefined>();
  await vi.waitFor(async () => expect(seen.add(await lease()).size).toBeGreaterThan(3), 20_000);
  resolve();
  await worker.idle();
  expect(starts).toBe(1);
});

test("a worker that comes back from the dead cannot commit what another does now", async () => {
  const { promise, resolve } = gate();
  const outcomes: unknown[] = [];
  const contexts: JobContext[] = [];
  const send = testJob("send", async (context) => {
    contexts.push(context);
    if (context.attempt === 1) await promise;
    await context
      .transact(
        ({ sql, property }) => sql`
        insert into segments (property_id, name) values (${property.id}, ${`attempt ${context.attempt}`})`,
      )
      .then(
        () => outcomes.push(`attempt ${context.attempt} wrote`),
        (error) => outcomes.push(`attempt ${context.attempt} ${error.code}`),
      );
  });
  await fixture.put(send, 0, { propertyId: fixture.property });
  const zombie = await start([send]);
  await vi.waitFor(() => expect(contexts).toHaveLength(1), 20_000);
  await fixture.db.asSystem((sql) => sql`update queue set leased_until = now() - interval '1 second'`);
  await reap(fixture.db);
  await start([send]);
  zombie.wake();
  await vi.waitFor(() => expect(outcomes).toEqual(["attempt 2 wrote"]), 20_000);
  resolve();
  await vi.waitFor(() => expect(outcomes).toEqual(["attempt 2 wrote", "attempt 1 QL001"]), 20_000);
  await zombie.idle();
});

test("a worker that hears that its lease is gone tells the job to stop", async () => {
  let aborted = false;
  const send = testJob("send", async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    aborted = true;
  });
  await fixture.put(send);
  await start([send], { leaseMs: 1_500 });
  await vi.waitFor(async () => expect((await fixture.rows())[0]?.state).toBe("running"), 20_000);
  await fixture.db.asSystem((sql) => sql`update queue set lease = gen_random_uuid()`);
  await vi.waitFor(() => expect(aborted).toBe(true), 20_000);
});

test("a stopping worker finishes what runs, and gives back what does not end, unspent", async () => {
  const { promise, resolve } = gate();
  const ended: number[] = [];
  const running: number[] = [];
  const send = testJob("send", async ({ signal }, { n }) => {
    running.push(n);
    if (n === 1) await new Promise((abort) => signal.addEventListener("abort", abort));
    if (n === 2) await promise;
    if (n === 3)
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    ended.push(n);
  });
  for (const n of [1, 2, 3, 4]) await fixture.put(send, n);
  const worker = await start([send], { concurrency: 4 });
  await vi.waitFor(() => expect(running).toHaveLength(3), 20_000);
  await fixture.put(send, 5);
  await worker.stop({ graceMs: 300 });
  expect(ended).toEqual([1]);
  const rows = await fixture.rows();
  expect(rows.map((row) => row.input.n)).toEqual([2, 3, 4, 5]);
  expect(rows.every((row) => row.state === "ready" && row.attempts === 0)).toBe(true);
  resolve();
  await promise;
  expect(await fixture.rows()).toHaveLength(4);
});

test("a stopping worker waits until the queue knows which jobs have ended, also when its patience is over", async () => {
  const { promise, resolve } = gate();
  const send = testJob("send", async ({ signal }, { n }) => {
    if (n === 1) await new Promise((abort) => signal.addEventListener("abort", abort));
    if (n === 2) await promise;
  });
  for (const n of [1, 2]) await fixture.put(send, n);
  const worker = await start([send]);
  const states = async () => (await fixture.rows()).map(({ state }) => state);
  await vi.waitFor(async () => expect(await states()).toEqual(["running", "running"]), 20_000);
  const admin = postgres(fixture.url, { max: 3 });
  const hold = (n: number) =>
    openTransaction(admin, (sql) => sql`select from queue where input ->> 'n' = ${String(n)} for update`);
  const [finished, unfinished] = [await hold(1), await hold(2)];
  const order: string[] = [];
  const stopping = worker.stop({ graceMs: 50 }).then(() => order.push("stopped"));
  // The report about the one job, and the other that is given back.
  await lockWaits(admin, 2);
  await unfinished();
  await vi.waitFor(async () => expect(await states()).toEqual(["running", "ready"]), 20_000);
  await fixture.rows();
  order.push("the queue can be written");
  await finished();
  await stopping;
  expect(order).toEqual(["the queue can be written", "stopped"]);
  expect(await states()).toEqual(["ready"]);
  resolve();
  await admin.end();
});

test("the long jobs of one property leave a slot for another's", async () => {
  const { promise, resolve } = gate();
  const quick = Promise.withResolvers<string | null>();
  let long = 0;
  const send = testJob("send", async ({ propertyId }) => {
    if (propertyId !== fixture.property) return quick.resolve(propertyId);
    long++;
    await promise;
  });
  const worker = await start([send]);
  for (let n = 0; n < 12; n++) await fixture.put(send, n, { propertyId: fixture.property });
  await vi.waitFor(() => expect(long).toBe(6), 20_000);
  await fixture.put(send, 0, { propertyId: fixture.rival });
  expect(await quick.promise).toBe(fixture.rival);
  expect(long).toBe(6);
  resolve();
  await worker.idle();
  expect(long).toBe(12);
});

test("transactions of jobs leave a connection to claims and heartbeats", async () => {
  const { promise, resolve } = gate();
  let open = 0;
  const hold = testJob("hold", ({ transactSystem }) =>
    transactSystem(async (sql) => {
      open++;
      await sql`select 1`;
      await promise;
    }),
  );
  const pass = Promise.withResolvers<void>();
  const worker = await start([hold, testJob("pass", async () => pass.resolve())]);
  for (let n = 0; n < 6; n++) await fixture.put(hold, n, { propertyId: fixture.property });
  await vi.waitFor(() => expect(open).toBe(fixture.config.databasePool - 1), 20_000);
  await fixture.put(testJob("pass"));
  await pass.promise;
  expect(open).toBe(fixture.config.databasePool - 1);
  resolve();
  await worker.idle();
});

test("a job that waited for one with its merge key starts when that one ends, and the rest of the tenant's do not wait", async () => {
  const [held, others] = [gate(), gate()];
  const ran: number[] = [];
  const send = testJob("send", async (_, { n }) => {
    ran.push(n);
    if (n === 1) await held.promise;
    if (n === 9) others.resolve();
  });
  await start([send]);
  const merged = { mergeKey: "endpoint-1", propertyId: fixture.property };
  await fixture.put(send, 1, merged);
  await vi.waitFor(() => expect(ran).toEqual([1]), 20_000);
  await fixture.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, property_id, input, merge_key, max_attempts)
      select uuid_v7(), 'send', ${fixture.property}::uuid, '{"n": 2}', 'endpoint-1', 3 from generate_series(1, 200)`,
  );
  await fixture.put(send, 9, { propertyId: fixture.property });
  await others.promise;
  expect(ran).toEqual([1, 9]);
  held.resolve();
  await vi.waitFor(() => expect(ran).toEqual([1, 9, 2]), 20_000);
});

test("a wake for jobs that wait for a running one makes no look at the queue, any other wake does", async () => {
  const held = gate();
  const started = gate();
  const send = testJob("send", async () => {
    started.resolve();
    await held.promise;
  });
  let looks = 0;
  let open = 0;
  const { db } = fixture;
  const watched: Database = {
    ...db,
    asSystem: async (...given) => {
      looks += 1;
      open += 1;
      return db.asSystem(...given).finally(() => {
        open -= 1;
      });
    },
  };
  await fixture.put(send, 1, { mergeKey: "endpoint-1", propertyId: fixture.property });
  const worker = await start([send], { db: watched });
  await started.promise;
  const waiting = { name: "send", mergeKey: "endpoint-1" };
  const looksAt = async (jobs: Parameters<Worker["wake"]>[0]) => {
    await vi.waitFor(() => expect(open).toBe(0), { interval: 1, timeout: 20_000 });
    const before = looks;
    worker.wake(jobs);
    await new Promise(setImmediate);
    return looks - before;
  };
  expect(await looksAt([waiting])).toBe(0);
  expect(await looksAt([waiting, { name: "send", mergeKey: "endpoint-2" }])).toBeGreaterThan(0);
  expect(await looksAt([{ name: "other", mergeKey: "endpoint-1" }])).toBeGreaterThan(0);
  expect(await looksAt([{ name: "send", mergeKey: undefined }])).toBeGreaterThan(0);
  held.resolve();
  await worker.idle();
});

test("input that the job's schema refuses is a failure with its reason", async () => {
  const send = testJob("send", undefined, { attempts: 1 });
  await fixture.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'send', '{"n": "many"}', 1)`,
  );
  const worker = await start([send]);
  await worker.idle();
  expect((await fixture.rows())[0]).toMatchObject({
    state: "dead",
    last_error: expect.stringContaining("must be a number"),
  });
});
