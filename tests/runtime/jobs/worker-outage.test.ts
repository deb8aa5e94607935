import { pino } from "pino";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Database } from "#db/database.ts";
import { openWorkers, testJob } from "./worker-processes.ts";

let fixture: Awaited<ReturnType<typeof openWorkers>>;
beforeAll(async () => {
  fixture = await openWorkers();
});
afterAll(() => fixture.close());

/** Cuts every connection, as a restart of the database does. */
async function cutAllConnections() {
  const admin = postgres(fixture.url, { max: 1 });
  await admin`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`;
  await admin.end();
}

test("when the database restarts, workers go on within seconds, and no attempt is spent", async () => {
  const runs: { n: number; attempt: number }[] = [];
  const inTransaction = Promise.withResolvers<void>();
  const cut = Promise.withResolvers<void>();
  const send = testJob(
    "send",
    async ({ attempt, transactSystem }, { n }) => {
      runs.push({ n, attempt });
      await transactSystem(async (sql) => {
        await sql`select 1`;
        if (n === 1 && runs.filter((run) => run.n === 1).length === 1) {
          inTransaction.resolve();
          await cut.promise;
        }
        await sql`select 2`;
      });
    },
    { attempts: 1 },
  );
  const worker = await fixture.worker([send]);
  await fixture.put(send, 1);
  await inTransaction.promise;
  await cutAllConnections();
  cut.resolve();
  await vi.waitFor(() => fixture.put(send, 2), 20_000);
  await vi.waitFor(() => expect(runs.some((run) => run.n === 2)).toBe(true), {
    timeout: 20_000,
    interval: 10,
  });
  await vi.waitFor(async () => expect(await fixture.rows()).toEqual([]), 20_000);
  expect(runs.filter((run) => run.n === 1)).toEqual([
    { n: 1, attempt: 1 },
    { n: 1, attempt: 1 },
  ]);
  await worker.stop();
});

test("five restarts in a row lose no job, and a listener that was cut hears again", async () => {
  const ran = new Set<number>();
  const send = testJob(
    "send",
    async ({ transactSystem }, { n }) => {
      await transactSystem((sql) => sql`select pg_sleep(0.002)`);
      ran.add(n);
    },
    { attempts: 1 },
  );
  const workers = [await fixture.worker([send]), await fixture.worker([send])];
  await fixture.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, input, max_attempts)
      select uuid_v7(), 'send', jsonb_build_object('n', n), 1 from generate_series(1, 400) as n`,
  );
  for (const worker of workers) worker.wake();
  for (let times = 1; times <= 5; times++) {
    const seen = ran.size;
    await cutAllConnections();
    await vi.waitFor(() => expect(ran.size).toBeGreaterThan(Math.min(399, seen)), {
      timeout: 20_000,
      interval: 2,
    });
  }
  // A job that a cut left without a worker comes back with its lease.
  await vi.waitFor(() => expect(ran.size).toBe(400), 60_000);
  await workers[0]!.idle();
  expect(await fixture.rows()).toEqual([]);
});

test("the jobs of a claim are not lost with its answer", async () => {
  const ran: { n: number; attempt: number }[] = [];
  const receive = testJob("receive", async ({ attempt }, { n }) => void ran.push({ n, attempt }), {
    attempts: 1,
  });
  await fixture.put(receive, 1);
  const { db } = await fixture.process();
  let lost = false;
  const asSystem: Database["asSystem"] = async (work, options) => {
    const answer = await db.asSystem(work, options);
    if (lost || !Array.isArray(answer) || answer[0]?.name !== "receive") return answer;
    lost = true;
    throw Object.assign(new Error("cut after the commit"), { code: "CONNECTION_CLOSED" });
  };
  await fixture.worker([receive], { db: { ...db, asSystem } });
  await vi.waitFor(() => expect(ran).toEqual([{ n: 1, attempt: 1 }]), 20_000);
  expect(lost).toBe(true);
});

test("a worker that stops without patience gives back what a claim under way takes", async () => {
  const { db } = await fixture.process();
  const [claimed, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asSystem: Database["asSystem"] = async (work, options) => {
    const answer = await db.asSystem(work, options);
    if (Array.isArray(answer) && answer[0]?.name === "late") {
      claimed.resolve();
      await answered.promise;
    }
    return answer;
  };
  const late = testJob("late");
  await fixture.put(late, 1);
  const worker = await fixture.worker([late], { db: { ...db, asSystem } });
  await claimed.promise;
  const stopped = worker.stop({ graceMs: 0 });
  // It is not to end with the claim unanswered, though its grace is over.
  let ended = false;
  void stopped.then(() => {
    ended = true;
  });
  await fixture.rows();
  expect(ended).toBe(false);
  answered.resolve();
  await stopped;
  await vi.waitFor(
    async () => expect(await fixture.rows()).toMatchObject([{ state: "ready", attempts: 0 }]),
    20_000,
  );
  await db.asSystem((sql) => sql`delete from queue`);
});

test("an outage is one line in the log, and its end another, however many tries it takes", async () => {
  const { db } = await fixture.process();
  const state = { down: false, refused: 0, running: 0 };
  const asSystem: Database["asSystem"] = async (work, options) => {
    if (state.down) {
      state.refused++;
      throw Object.assign(new Error("nobody answers"), { code: "CONNECTION_CLOSED" });
    }
    state.running++;
    return db.asSystem(work, options).finally(() => state.running--);
  };
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const count = (words: string) => lines.filter((line) => line.includes(words)).length;
  const worker = await fixture.worker([testJob("outage")], { db: { ...db, asSystem }, log });
  for (const outage of [1, 2, 3]) {
    // A statement that is still answered would be its end: it begins between two statements.
    while (state.running > 0) await new Promise((resolve) => setImmediate(resolve));
    Object.assign(state, { down: true, refused: 0 });
    await vi.waitFor(() => expect(state.refused).toBeGreaterThan(2), 20_000);
    state.down = false;
    await vi.waitFor(() => expect(count("answers again")).toBe(outage), 20_000);
    expect(count("does not answer")).toBe(outage);
  }
  await worker.stop();
});

test("a stopping worker waits for the renewal of leases that is under way", async () => {
  // Workers of other tests would take the lost job back.
  const alone = await openWorkers();
  const { db } = await alone.process();
  const [renewing, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asSystem: Database["asSystem"] = async (work, options) => {
    const answer = await db.asSystem(work, options);
    if (!Array.isArray(answer) || answer[0]?.id !== expired!.id) return answer;
    renewing.resolve();
    await lost.promise;
    throw new Error("the connection is gone");
  };
  const job = testJob("expired");
  await alone.put(job, 1);
  const [expired] = await db.asSystem(
    (sql) => sql<{ id: string }[]>`
      update queue set state = 'running', attempts = 1, lease = gen_random_uuid(), leased_until = now() - interval '1 s'
      returning id`,
  );
  const worker = await alone.worker([], { db: { ...db, asSystem } });
  await renewing.promise;
  const order: string[] = [];
  const stopped = worker.stop({ graceMs: 0 }).then(() => order.push("stopped"));
  await alone.rows();
  order.push("the connection is lost");
  lost.resolve();
  await stopped;
  expect(order).toEqual(["the connection is lost", "stopped"]);
  await alone.close();
});
