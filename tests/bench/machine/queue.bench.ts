import { randomUUID } from "node:crypto";
import { Logger, run as runGraphile, runMigrations } from "graphile-worker";
import pg from "pg";
import { pino } from "pino";
import postgres from "postgres";
import { z } from "zod";
import { connect } from "#db/database.ts";
import { migrate } from "#db/migrate.ts";
import { openChannels } from "#runtime/channels/index.ts";
import { readConfig } from "#runtime/config.ts";
import { openDirectory } from "#runtime/identity/directory.ts";
import { openSessions } from "#runtime/identity/sessions.ts";
import { startWorker } from "#runtime/jobs/worker.ts";
import { openMailDomains } from "#runtime/network/mail-domains.ts";
import { outgoing } from "#runtime/network/outgoing.ts";
import { job } from "#runtime/operation/job.ts";
import { benchServer } from "../support/database.ts";
import { type Figure, median, type Report } from "../support/figure.ts";

interface Contender {
  /** Puts so many jobs that do nothing on the queue, before the clock runs. */
  fill(jobs: number): Promise<void>;
  /** Starts a worker; `ran` is called for each job. */
  start(ran: () => void): Promise<{ stop(): Promise<void> }>;
  left(): Promise<number>;
  /** Enqueues one job as an application would. */
  put(): Promise<void>;
}

const JOBS = Number(process.env.BENCH_JOBS ?? 100_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const LATENCIES = 50;
/** A control whose slowest and fastest rounds differ by more than this has moved, and its figure is void. */
const STEADY = 1.5;

/** The best settings of graphile-worker depend on the machine: each is run, and the best one is the peer. */
const DRAINING = [
  { concurrentJobs: 10, size: 500 },
  { concurrentJobs: 4, size: 500 },
  { concurrentJobs: 10, size: 1_000 },
];
/** Without a local queue it starts a single job sooner. */
const STARTING = [{ concurrentJobs: 10 }, { concurrentJobs: 10, size: 500 }];

/** S10 and S11: jobs a second, and enqueue to start, beside graphile-worker on the same server. */
export default async function bench(report: Report): Promise<void> {
  const server = await benchServer();
  const admin = postgres(server, { max: 1, onnotice: () => {} });
  const databases = [`bench_${randomUUID().slice(0, 8)}`, `bench_${randomUUID().slice(0, 8)}`];
  for (const name of databases) await admin.unsafe(`create database ${name}`);
  const [ourUrl, peerUrl] = databases.map(
    (name) => Object.assign(new URL(server), { pathname: `/${name}` }).href,
  );
  const ours = await openOurs(ourUrl!);
  const pool = await openPool(peerUrl!);
  try {
    const drains = await rounds(
      ours,
      DRAINING.map((setting) => graphile(pool, setting)),
      drain,
    );
    const fastest = drains.peers.toSorted((a, b) => median(rates(b)) - median(rates(a)))[0]!;
    const cpu = `CPU ${cpuOf(drains.ours)} and ${cpuOf(fastest)} us a job in this process`;
    report(
      line(
        `S10 queue: ${JOBS.toLocaleString("en")} jobs, jobs/s`,
        rates(drains.ours),
        rates(fastest),
        (ratio) => ratio >= 1.5,
        ">= 1.5",
        cpu,
      ),
    );
    const starts = await rounds(
      ours,
      STARTING.map((setting) => graphile(pool, setting)),
      latency,
    );
    const soonest = starts.peers.toSorted((a, b) => median(a) - median(b))[0]!;
    report(line("S11 enqueue to start, p50 ms", starts.ours, soonest, (ratio) => ratio <= 1, "<= 1.0"));
  } finally {
    await ours.close();
    await pool.end();
    for (const name of databases) await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end();
  }
}

async function rounds<T>(ours: Contender, peers: Contender[], measure: (contender: Contender) => Promise<T>) {
  const measured = { ours: [] as T[], peers: peers.map((): T[] => []) };
  for (let round = 0; round <= ROUNDS; round++) {
    const own = await measure(ours);
    const others: T[] = [];
    for (const peer of peers) others.push(await measure(peer));
    // The first round only warms.
    if (round === 0) continue;
    measured.ours.push(own);
    for (const [at, other] of others.entries()) measured.peers[at]!.push(other);
  }
  return measured;
}

/** The median of the rounds' ratios: what slows the machine for a while slows both sides of a round. */
function line(
  name: string,
  ours: number[],
  peer: number[],
  reached: (ratio: number) => boolean,
  goal: string,
  note = "",
): Figure {
  const ratio = median(ours.map((own, round) => own / peer[round]!));
  const moved = Math.max(...peer) / Math.min(...peer) > STEADY;
  const spread = [ours, peer].map((all) => `${Math.min(...all).toFixed(1)}..${Math.max(...all).toFixed(1)}`);
  const notes = [note, `rounds ${spread.join(" and ")}`, moved ? "VOID: the control moved" : ""].filter(
    Boolean,
  );
  const met = !moved && reached(ratio);
  return { name, ours: median(ours), peer: median(peer), ratio, goal, met, note: notes.join("; ") };
}

interface Drain {
  rate: number;
  cpu: number;
}

async function drain(contender: Contender): Promise<Drain> {
  await contender.fill(JOBS);
  let ran = 0;
  const done = Promise.withResolvers<void>();
  const cpu = process.cpuUsage();
  const started = performance.now();
  const worker = await contender.start(() => {
    if (++ran === JOBS) done.resolve();
  });
  await done.promise;
  while ((await contender.left()) > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  const took = performance.now() - started;
  const used = process.cpuUsage(cpu);
  await worker.stop();
  if (ran !== JOBS) throw new Error(`${ran} runs of ${JOBS} jobs`);
  return { rate: JOBS / (took / 1_000), cpu: (used.user + used.system) / JOBS };
}

async function latency(contender: Contender): Promise<number> {
  let begun = Promise.withResolvers<void>();
  const worker = await contender.start(() => begun.resolve());
  const times: number[] = [];
  for (let count = 0; count < LATENCIES; count++) {
    begun = Promise.withResolvers<void>();
    const asked = performance.now();
    await contender.put();
    await begun.promise;
    times.push(performance.now() - asked);
    while ((await contender.left()) > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await worker.stop();
  return median(times);
}

async function openOurs(url: string): Promise<Contender & { close(): Promise<void> }> {
  await migrate(url);
  const log = pino({ level: "silent" });
  const config = readConfig({ APP_SECRET: randomUUID().repeat(2) });
  const db = connect(url);
  const directory = await openDirectory(db, log);
  const sessions = await openSessions(db, directory, config);
  const channels = openChannels({ allowPrivate: true });
  const post = outgoing({ allowPrivate: false, allowHttp: false });
  let wake = () => {};
  return {
    fill: async (jobs) => {
      await db.asSystem(
        (sql) => sql`
          insert into queue (id, name, input, max_attempts)
          select uuid_v7(), 'nothing', '{}', 3 from generate_series(1, ${jobs}::int)`,
        { deadline: 60_000 },
      );
    },
    start: async (ran) => {
      const nothing = job({ name: "nothing", attempts: 3, input: z.object({}), handler: async () => ran() });
      const worker = startWorker({
        db,
        config,
        directory,
        sessions,
        log,
        jobs: [nothing],
        jobRuntime: {
          outgoing: post,
          open: channels.open,
          mailDomains: openMailDomains([]),
          run: async () => null,
        },
      });
      wake = worker.wake;
      return worker;
    },
    left: () => db.asSystem(async (sql) => (await sql`select 1 from queue limit 1`).length),
    put: async () => {
      await db.asSystem(
        (sql) =>
          sql`insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'nothing', '{}', 3)`,
      );
      wake();
    },
    close: async () => {
      await directory.close();
      await channels.close();
      await post.close();
      await db.close();
    },
  };
}

async function openPool(url: string): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: url, max: 12 });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  await runMigrations({ pgPool: pool });
  return pool;
}

function graphile(
  pool: pg.Pool,
  { concurrentJobs, size }: { concurrentJobs: number; size?: number },
): Contender {
  const batched = size && { localQueue: { size }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  return {
    fill: async (jobs) => {
      await pool.query(
        `select count(*) from graphile_worker.add_jobs(
          array(select json_populate_record(null::graphile_worker.job_spec, '{"identifier":"nothing"}')
            from generate_series(1, $1::int)))`,
        [jobs],
      );
    },
    start: async (ran) => {
      const runner = await runGraphile({
        pgPool: pool,
        noHandleSignals: true,
        taskList: { nothing: async () => ran() },
        logger: new Logger(() => () => {}),
        preset: { worker: { concurrentJobs, ...batched } },
      });
      return { stop: () => runner.stop() };
    },
    left: async () => (await pool.query("select 1 from graphile_worker._private_jobs limit 1")).rowCount ?? 0,
    put: async () => {
      await pool.query(`select graphile_worker.add_job('nothing')`);
    },
  };
}

function rates(drains: Drain[]): number[] {
  return drains.map((one) => one.rate);
}

function cpuOf(drains: Drain[]): string {
  return median(drains.map((one) => one.cpu)).toFixed(1);
}
