import { Cron } from "croner";
import type { Database } from "#db/database.ts";
import type { Log } from "#runtime/log.ts";
import type { Job } from "#runtime/operation/job.ts";
import { enqueue } from "./queue.ts";

export interface Scheduler {
  stop(): Promise<void>;
}

export interface SchedulerOptions {
  db: Pick<Database, "asSystem">;
  jobs: readonly Job<unknown>[];
  log: Log;
}

interface Entry {
  job: Job<unknown>;
  cron: Cron;
  next: Date | null;
}

/** Milliseconds. The database's clock is read at least this often, so that a timer cannot drift from it. */
const LONGEST_SLEEP = 30_000;
/** Milliseconds of delay after which a tick is missed, and not replayed. */
const LATEST = 3_600_000;
const RETRY = 1_000;

/**
 * Queues each job that has `every` at its ticks, in UTC by the database's clock: once a tick, however many processes do
 * this. Ticks that pass while every process is down are left out.
 */
export function startScheduler({ db, jobs, log }: SchedulerOptions): Scheduler {
  const entries = jobs.flatMap((job): Entry[] =>
    job.every ? [{ job, cron: new Cron(job.every, { timezone: "UTC", paused: true }), next: null }] : [],
  );
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  let stopped = false;
  let failing = false;

  const round = async () => {
    let sleep = RETRY;
    try {
      sleep = await runDue(db, entries);
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error }, "the scheduler's database does not answer; retrying");
      failing = true;
    }
    if (!stopped) timer = setTimeout(start, sleep);
  };
  const start = () => {
    current = round();
  };
  if (entries.length > 0) start();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await current;
    },
  };
}

/** Writes the ticks that are due, and answers the milliseconds until the next one. */
async function runDue(db: SchedulerOptions["db"], entries: readonly Entry[]): Promise<number> {
  const now = await databaseNow(db);
  for (const entry of entries) {
    entry.next ??= entry.cron.nextRun(new Date(now));
    if (entry.next === null || entry.next.getTime() > now) continue;
    if (now - entry.next.getTime() < LATEST) await fire(db, entry.job, entry.next);
    entry.next = entry.cron.nextRun(new Date(now));
  }
  const soonest = Math.min(...entries.map((entry) => entry.next?.getTime() ?? Number.POSITIVE_INFINITY));
  return Math.min(LONGEST_SLEEP, Math.max(1, Math.ceil(soonest - now)));
}

async function databaseNow(db: SchedulerOptions["db"]): Promise<number> {
  const [row] = await db.asSystem(
    (sql) => sql<{ now: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as now`,
  );
  return row!.now;
}

/** The tick's row is unique: the process that writes it queues the job, in the same transaction. */
async function fire(db: SchedulerOptions["db"], job: Job<unknown>, tick: Date): Promise<void> {
  await db.asSystem(async (sql) => {
    const [won] = await sql`
      insert into schedule_ticks (name, tick) values (${job.name}, ${tick.toISOString()}::timestamptz)
      on conflict do nothing returning 1`;
    if (!won) return;
    await sql`delete from schedule_ticks where tick < now() - interval '1 day'`;
    await enqueue(sql, job, {}, { dedupe: job.name });
  });
}
