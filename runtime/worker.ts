import { setTimeout } from "node:timers/promises";
import type { Job } from "./operation.ts";
import { heartbeat, leaseKey, pending, QUEUE_CHANNEL, queueNotifier, reap } from "./queue.ts";
import type { Surroundings } from "./worker-context.ts";
import {
  type Crew,
  forget,
  giveBack,
  hasRoom,
  openCrew,
  quiet,
  recovered,
  releaseStray,
  trouble,
  wake,
  work,
} from "./worker-crew.ts";

export interface WorkerOptions extends Surroundings {
  jobs: readonly Job<unknown>[];
  /** Jobs that run at once. */
  concurrency?: number;
  /** How long a job stays with a worker that is not heard of. Heartbeats come three times as often. */
  leaseMs?: number;
}

export interface Worker {
  /** There are new jobs: looks at once, and tells other processes when there is no room here. */
  wake(): void;
  /** Resolves when no job that this worker knows is due or running, in any process. */
  idle(): Promise<void>;
  /** Takes no more jobs, tells those that run by their signal, waits `graceMs` for them, gives back the rest. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

const GRACE = 10_000;
const GIVING_BACK = 5_000;
/** What has waited here for longer is given back: another process may have a free slot. */
const LONGEST_WAIT = 1_000;

/** Claims jobs and runs them, until it is stopped. */
export function startWorker({ concurrency = 8, leaseMs = 30_000, ...options }: WorkerOptions): Worker {
  const crew = openCrew({ ...options, concurrency, leaseMs });
  const notifyOthers = queueNotifier(crew.db, crew.log);
  const upkeep = startUpkeep(crew);
  listen(crew);
  work(crew);
  let stopped: Promise<void> | undefined;
  return {
    wake: () => {
      if (crew.stopping || !hasRoom(crew)) void notifyOthers();
      wake(crew);
    },
    idle: () => idle(crew),
    stop: ({ graceMs = GRACE } = {}) => {
      stopped ??= stop(crew, graceMs).finally(() => clearInterval(upkeep));
      return stopped;
    },
  };
}

function listen(crew: Crew): void {
  const look = () => wake(crew);
  // Not tried again here: the driver does so by itself, and until then the worker polls.
  crew.db.listen(QUEUE_CHANNEL, look, look).catch((error: unknown) => {
    crew.log.debug({ err: error }, "not listening for new jobs; they are found by polling");
  });
}

async function idle(crew: Crew): Promise<void> {
  while (!crew.stopping) {
    await quiet(crew);
    try {
      if ((await pending(crew.db, crew.names)) === 0) return;
      wake(crew);
      await setTimeout(10);
    } catch (error) {
      await setTimeout(trouble(crew, error));
    }
  }
}

async function stop(crew: Crew, graceMs: number): Promise<void> {
  crew.stopping = true;
  clearTimeout(crew.timer);
  for (const job of crew.held) job.stop.abort();
  const finished = Promise.all([
    giveBack(crew, crew.slots.waitingSince(Number.POSITIVE_INFINITY)),
    quiet(crew),
  ]);
  await within(graceMs, finished);
  const rest = [...crew.held].filter((job) => job.state !== "ended");
  if (rest.length > 0) {
    crew.log.warn({ jobs: rest.map((job) => job.id) }, "stopping: unfinished jobs are given back");
  }
  // A claim under way gives back by itself what it takes, and one that failed may have taken something.
  const back = Promise.all([giveBack(crew, rest), ...crew.claims]).then(() => releaseStray(crew));
  await within(
    GIVING_BACK,
    back.catch((error: unknown) => trouble(crew, error)),
  );
  crew.closed = true;
}

/** Waits for the promise, but no longer than so many milliseconds. */
async function within(milliseconds: number, promise: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([promise, setTimeout(milliseconds, undefined, { signal: late.signal }).catch(() => {})]);
  late.abort();
}

/** Heartbeats, the search for lost workers' jobs, and the return of what waits here for too long. */
function startUpkeep(crew: Crew): NodeJS.Timeout {
  const { leaseMs, db } = crew;
  let beaten = performance.now();
  let reaped = Number.NEGATIVE_INFINITY;
  let busy = false;
  const round = async () => {
    const now = performance.now();
    await giveBack(crew, crew.slots.waitingSince(now - LONGEST_WAIT));
    if (now - beaten >= leaseMs / 3) {
      await beat(crew);
      beaten = now;
    }
    if (now - reaped >= leaseMs / 6) {
      if (!crew.stopping && (await reap(db)) > 0) wake(crew);
      reaped = now;
      recovered(crew);
    }
  };
  return setInterval(
    () => {
      if (busy) return;
      busy = true;
      round()
        .catch((error: unknown) => trouble(crew, error))
        .finally(() => {
          busy = false;
        });
    },
    Math.min(1_000, leaseMs / 6),
  );
}

async function beat(crew: Crew): Promise<void> {
  const jobs = [...crew.held];
  if (jobs.length === 0) return;
  const standing = await heartbeat(crew.db, jobs, crew.leaseMs);
  const lost = jobs.filter((job) => job.state === "running" && !standing.has(leaseKey(job)));
  for (const job of lost) job.stop.abort();
  forget(crew, lost);
}
