import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "#db/database.ts";
import * as leases from "#runtime/jobs/leases.ts";
import * as queue from "#runtime/jobs/queue.ts";
import { openWorkers, testJob } from "./worker-processes.ts";

let fixture: Awaited<ReturnType<typeof openWorkers>>;
const send = testJob("send");
beforeAll(async () => {
  fixture = await openWorkers();
});
beforeEach(() => fixture.db.asSystem((sql) => sql`delete from queue`));
afterAll(() => fixture.close());

function claim(limit: number, options: Partial<queue.ClaimOptions> = {}, db = fixture.db) {
  const usual = {
    names: ["send"],
    sending: [],
    lease: randomUUID(),
    leaseMs: 30_000,
    cap: 1_000,
    held: new Map<string, number>(),
  };
  return queue.claim(db, { ...usual, limit, ...options });
}

async function putMany(count: number, propertyId: string | null) {
  await fixture.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, property_id, input, max_attempts, run_at)
      select uuid_v7(), 'send', ${propertyId}, jsonb_build_object('n', n), 3, now() - interval '1 minute' + n * interval '1 ms'
      from generate_series(1, ${count}::int) as n`,
  );
}

test("two claims at once share the jobs, and no job is in both", async () => {
  await putMany(200, fixture.property);
  const [one, other] = await Promise.all([claim(150), claim(150)]);
  expect(one.length + other.length).toBe(200);
  expect(new Set([...one, ...other].map((job) => job.id)).size).toBe(200);
});

test("the oldest jobs of a property are claimed first, in their order", async () => {
  await putMany(20, fixture.property);
  expect((await claim(5)).map((job) => job.input)).toEqual([1, 2, 3, 4, 5].map((n) => ({ n })));
});

test("a property's long backlog does not hold up another's single job", async () => {
  await putMany(500, fixture.property);
  await putMany(1, fixture.rival);
  await putMany(1, null);
  const claimed = await claim(6);
  expect(claimed.filter((job) => job.property_id === fixture.property)).toHaveLength(2);
  expect(claimed.some((job) => job.property_id === fixture.rival)).toBe(true);
  expect(claimed.some((job) => job.property_id === null)).toBe(true);
});

test("a lone free slot goes to the property that has the fewest jobs here", async () => {
  await putMany(10, fixture.property);
  await putMany(10, fixture.rival);
  const [next] = await claim(1, {
    held: new Map([
      [fixture.property, 2],
      [fixture.rival, 1],
    ]),
  });
  expect(next?.property_id).toBe(fixture.rival);
});

test("a property is given no more jobs than it may have here", async () => {
  await putMany(10, fixture.property);
  expect(await claim(10, { cap: 6, held: new Map([[fixture.property, 4]]) })).toHaveLength(2);
  expect(await claim(10, { cap: 6, held: new Map([[fixture.property, 6]]) })).toHaveLength(0);
});

test("a property that has all its jobs here takes no share from another", async () => {
  await putMany(10, fixture.property);
  await putMany(10, fixture.rival);
  const claimed = await claim(4, { cap: 6, held: new Map([[fixture.property, 6]]) });
  expect(claimed.map((job) => job.property_id)).toEqual(Array(4).fill(fixture.rival));
});

test("a job of a name that this process does not know is left alone", async () => {
  await fixture.put(testJob("from_a_newer_version"));
  expect(await claim(10)).toEqual([]);
});

test("a claim on a full queue walks the index, even when its plan was made on an empty one", async () => {
  const one = connect(fixture.url, { size: 1 });
  const fullScans = async () => {
    await one.asSystem((sql) => sql`select pg_stat_force_next_flush()`);
    const [row] = await one.asSystem(
      (sql) => sql<{ scans: number }[]>`
        select seq_scan as scans from pg_stat_user_tables where relname = 'queue'`,
    );
    return row!.scans;
  };
  const admin = postgres(fixture.url, { max: 1 });
  await admin.unsafe("vacuum analyze queue");
  await admin.end();
  for (let times = 0; times < 7; times++) await claim(1, {}, one);
  await putMany(5_000, fixture.property);
  const before = await fullScans();
  for (let times = 0; times < 7; times++) await claim(1, {}, one);
  expect(await fullScans()).toBe(before);
  await one.close();
});

test("a failed job waits twice as long each time, up to an hour, and by chance somewhat less", async () => {
  for (const [attempts, seconds] of [
    [0, 1],
    [1, 2],
    [2, 4],
    [5, 32],
    [11, 2_048],
    [12, 3_600],
    [40, 3_600],
  ] as const) {
    await fixture.db.asSystem((sql) => sql`delete from queue`);
    await fixture.put(testJob("send", undefined, { attempts: 100 }));
    await fixture.db.asSystem((sql) => sql`update queue set attempts = ${attempts}`);
    const [job] = await claim(1);
    expect(await leases.fail(fixture.db, job!, { error: "no", interrupted: false })).toBe("ready");
    const [row] = await fixture.rows();
    expect(row!.due_in).toBeLessThanOrEqual(seconds);
    expect(row!.due_in).toBeGreaterThan(seconds / 2 - 0.3);
  }
});

test("the last attempt leaves the job dead, with its error", async () => {
  await fixture.put(testJob("send", undefined, { attempts: 1 }));
  const [job] = await claim(1);
  expect(await leases.fail(fixture.db, job!, { error: "no such mailbox", interrupted: false })).toBe("dead");
  expect(await fixture.rows()).toMatchObject([{ state: "dead", attempts: 1, last_error: "no such mailbox" }]);
  expect(await claim(1)).toEqual([]);
});

test("a job that is dead knows nobody any more, whether it failed or lost its workers; one that goes on does", async () => {
  const notice = { kind: "bounced", eventId: "e1", sendId: randomUUID(), code: "5.1.1" };
  const person = {
    address: "ana@example.com",
    from: "+17025550101",
    text: "I am Ana",
    message: "<ana@example.com>",
  };
  const told = {
    providerId: randomUUID(),
    to: "ana@example.com",
    notices: [{ ...notice, ...person }, "odd"],
  };
  for (const attempts of [1, 2]) {
    await fixture.put(testJob("send", undefined, { attempts }));
    await fixture.put(testJob("send", undefined, { attempts }));
  }
  await fixture.db.asSystem((sql) => sql`update queue set input = ${told as never}`);
  const jobs = await claim(4, { leaseMs: 0 });
  for (const [n, job] of jobs.entries()) {
    if (n % 2 === 0) await leases.fail(fixture.db, job, { error: "no", interrupted: false });
  }
  await queue.reap(fixture.db);
  const rows = await fixture.rows();
  const bare = { providerId: told.providerId, notices: [notice, "odd"] };
  expect(
    rows.map(({ state, input }) => ({ state, input })).sort((a, b) => (a.state < b.state ? -1 : 1)),
  ).toEqual([
    ...[1, 2].map(() => ({ state: "dead", input: bare })),
    ...[1, 2].map(() => ({ state: "ready", input: told })),
  ]);
});

test("a run that the database broke off is not counted as an attempt, twenty times", async () => {
  await fixture.put(testJob("send", undefined, { attempts: 1 }));
  for (let times = 1; times <= 21; times++) {
    await fixture.db.asSystem((sql) => sql`update queue set run_at = now()`);
    const [job] = await claim(1);
    expect(job!.attempts).toBe(1);
    const outcome = await leases.fail(fixture.db, job!, { error: "restart", interrupted: true });
    expect(outcome).toBe(times <= 20 ? "ready" : "dead");
  }
});

test("a lost worker's job is ready again once its lease has run out, and the attempt counts", async () => {
  await fixture.put(send);
  await claim(1, { leaseMs: 0 });
  expect(await queue.reap(fixture.db)).toBe(1);
  expect(await fixture.rows()).toMatchObject([{ state: "ready", attempts: 1, last_error: "lost worker" }]);
  const [again] = await claim(1);
  expect(again!.attempts).toBe(2);
  expect(await queue.reap(fixture.db)).toBe(0);
});

test("a job that loses each of its workers is dead after the last", async () => {
  await fixture.put(testJob("send", undefined, { attempts: 2 }));
  for (let times = 0; times < 2; times++) {
    await claim(1, { leaseMs: 0 });
    await queue.reap(fixture.db);
  }
  expect(await fixture.rows()).toMatchObject([{ state: "dead", attempts: 2, last_error: "lost worker" }]);
});

test("a worker that has lost the lease can neither complete the job, nor fail it, nor give it back", async () => {
  await fixture.put(send);
  const [first] = await claim(1, { leaseMs: 0 });
  await queue.reap(fixture.db);
  const [second] = await claim(1);
  await leases.complete(fixture.db, [first!]);
  expect(await leases.fail(fixture.db, first!, { error: "late", interrupted: false })).toBe("lost");
  await leases.release(fixture.db, [first!]);
  expect(await fixture.rows()).toMatchObject([{ state: "running", attempts: 2 }]);
  await leases.complete(fixture.db, [second!]);
  expect(await fixture.rows()).toEqual([]);
});

test("a job that is given back has not spent an attempt", async () => {
  await fixture.put(send);
  const [job] = await claim(1);
  await leases.release(fixture.db, [job!]);
  expect(await fixture.rows()).toMatchObject([{ state: "ready", attempts: 0 }]);
});

test("a heartbeat passes while the job's own transaction is open, and tells which leases still stand", async () => {
  await putMany(2, fixture.property);
  const jobs = await claim(2, { leaseMs: 0 });
  const lost = { id: jobs[1]!.id, lease: randomUUID() };
  const standing = await fixture.db.asSystem(
    async (sql) => {
      await sql`select 1`;
      return leases.heartbeat(fixture.db, [jobs[0]!, lost], 60_000);
    },
    { before: leases.fence(jobs[0]!) },
  );
  expect([...standing]).toEqual([leases.leaseKey(jobs[0]!)]);
  expect(await queue.reap(fixture.db)).toBe(1);
});

test("a job is not taken from a worker whose transaction under its lease is still open", async () => {
  await fixture.put(send);
  const [job] = await claim(1, { leaseMs: 0 });
  const reaped = await fixture.db.asSystem(
    async (sql) => {
      await sql`select 1`;
      return queue.reap(fixture.db);
    },
    { before: leases.fence(job!) },
  );
  expect(reaped).toBe(0);
  expect(await queue.reap(fixture.db)).toBe(1);
});

test("a transaction whose lease is gone writes nothing", async () => {
  await fixture.put(send);
  const [job] = await claim(1, { leaseMs: 0 });
  await queue.reap(fixture.db);
  const late = fixture.db.asSystem((sql) => sql`update properties set name = 'Zombie'`, {
    before: leases.fence(job!),
  });
  await expect(late).rejects.toMatchObject({ code: leases.LEASE_LOST });
  const names = await fixture.db.asSystem((sql) => sql`select name from properties where name = 'Zombie'`);
  expect(names).toHaveLength(0);
});

test("of two waiting jobs with one dedupe value the first stays, at the sooner of their times", async () => {
  await fixture.put(send, 1, { dedupe: "campaign-1", runAt: 60 });
  await fixture.put(send, 2, { dedupe: "campaign-1", runAt: 5 });
  await fixture.put(send, 3, { dedupe: "campaign-1", runAt: 600 });
  const rows = await fixture.rows();
  expect(rows).toMatchObject([{ input: { n: 1 } }]);
  expect(rows[0]!.due_in).toBeLessThan(6);
});

test("a job that runs does not keep its twin from waiting, and may fail beside it", async () => {
  await fixture.put(send, 1, { dedupe: "campaign-1" });
  const [running] = await claim(1);
  await fixture.put(send, 2, { dedupe: "campaign-1" });
  expect(await leases.fail(fixture.db, running!, { error: "no", interrupted: false })).toBe("ready");
  expect((await fixture.rows()).map((row) => row.input.n).sort()).toEqual([1, 2]);
});

test("of the due jobs with one merge key a claim takes one and removes the rest, and none while it runs", async () => {
  const merged = { mergeKey: "endpoint-1", propertyId: fixture.property };
  for (const n of [1, 2, 3]) await fixture.put(send, n, merged);
  await fixture.put(send, 4, { ...merged, runAt: 60 });
  await fixture.put(send, 5, { ...merged, mergeKey: "endpoint-2" });
  await fixture.put(send, 6, { propertyId: fixture.property });
  const [first] = await claim(1);
  expect(first!.input).toEqual({ n: 1 });
  expect((await fixture.rows()).map((row) => row.input.n).sort()).toEqual([1, 4, 5, 6]);
  await fixture.put(send, 7, merged);
  expect((await claim(10)).map((job) => job.input)).toEqual([{ n: 5 }, { n: 6 }]);
  expect(await claim(10)).toEqual([]);
  await leases.complete(fixture.db, [first!]);
  expect((await claim(10)).map((job) => job.input)).toEqual([{ n: 7 }]);
});

test("writers of jobs with one merge key do not wait for one another's commit", async () => {
  await fixture.db.asSystem(async (sql) => {
    await queue.enqueue(sql, send, { n: 1 }, { mergeKey: "endpoint-1" });
    await fixture.put(send, 2, { mergeKey: "endpoint-1" });
  });
  expect((await fixture.rows()).map((row) => row.input.n).sort()).toEqual([1, 2]);
});

test("the next time a job is due is known by the database's clock, and a job that is due already is not it", async () => {
  expect(await queue.untilNext(fixture.db)).toBeNull();
  await fixture.put(send, 1, { runAt: 60, propertyId: fixture.property });
  await fixture.put(send, 2, { runAt: 20, propertyId: fixture.rival });
  await putMany(1, null);
  const next = await queue.untilNext(fixture.db);
  expect(next).toBeGreaterThan(19_000);
  expect(next).toBeLessThanOrEqual(20_000);
});
