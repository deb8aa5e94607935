import { setTimeout as sleep } from "node:timers/promises";
import { isSqlState } from "#db/connection/error-code.ts";
import type { QueuedJob } from "#runtime/funnel/outbox.ts";
import type { Log } from "#runtime/log.ts";
import type { Job } from "#runtime/operation/job.ts";
import { activityOf, currentActivity, withActivity } from "#runtime/telemetry/activity.ts";
import { jobRuns } from "#runtime/telemetry/metrics.ts";
import { type ClaimedJob, type Claims, openClaims } from "./claims.ts";
import { type JobDependencies, jobContexts } from "./job-context.ts";
import { LEASE_LOST } from "./leases.ts";
import { pending, QUEUE_CHANNEL, queueNotifier, reap, untilNext } from "./queue.ts";
import { openSlots } from "./slots.ts";

export interface WorkerOptions extends JobDependencies {
  jobs: readonly Job<unknown>[];
  /** The number of jobs that run at once. */
  concurrency?: number;
  /** Milliseconds after which a silent worker loses its jobs. Heartbeats come six times as often. */
  leaseMs?: number;
}

export interface Worker {
  /**
   * Looks for new jobs at once, and notifies other processes when there is no room here. It passes over `jobs` of which
   * each waits for one that runs here: the end of that one wakes for them.
   */
  wake(jobs?: readonly QueuedJob[]): void;
  /** Whether it was in touch with the queue within the time of a lease. */
  isAlive(): boolean;
  /** Resolves when no job that this worker knows is due or running, in any process. */
  idle(): Promise<void>;
  /** Claims no more jobs, signals the running ones to stop, waits `graceMs` for them, and gives back the rest. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

const GRACE = 10_000;
const GIVING_BACK = 5_000;
const POLL_EVERY = 1_000;
/** With one claim at a time, small jobs run half as fast. */
const CLAIMS_AT_ONCE = 2;
/** Milliseconds. A job that waits longer here is given back: another process may have a free slot. */
const LONGEST_WAIT = 1_000;

/** Claims jobs and runs them, until it is stopped. */
export function startWorker({ concurrency = 8, leaseMs = 30_000, ...options }: WorkerOptions): Worker {
  const { db, log } = options;
  const claims = openClaims(db, log, leaseMs);
  const loop = startLoop(claims, concurrency, options);
  const others = queueNotifier(db, log);
  // No retry here: the driver connects again by itself, and the worker polls until then.
  db.listen(QUEUE_CHANNEL, loop.wake, loop.wake).catch((error: unknown) => {
    log.debug({ err: error }, "not listening for new jobs; the worker polls instead");
  });
  let seenAt = performance.now();
  const renewals = repeat(leaseMs / 6, async () => {
    try {
      await loop.giveBackWaiting(LONGEST_WAIT);
      await claims.heartbeat();
      if ((await reap(db)) > 0) loop.wake();
      seenAt = performance.now();
    } catch (error) {
      claims.retry.failed(error);
    }
  });
  const stopBeside = async () => {
    await renewals.stop();
    await others.ended();
  };
  let stopped: Promise<void> | undefined;
  return {
    wake: (jobs) => {
      if (jobs?.every(claims.holds)) return;
      if (!loop.hasRoom()) others.notify();
      loop.wake();
    },
    isAlive: () => performance.now() - seenAt < leaseMs,
    idle: async () => {
      const known = namesOf(options.jobs);
      const isBusy = async () => (await pending(db, known).catch(claims.retry.failed)) > 0;
      // While jobs run here, the queue need not be asked for them.
      while (!stopped && (claims.isOpen() || (await isBusy()))) {
        if (!claims.isOpen()) loop.wake();
        await sleep(10);
      }
    },
    stop: ({ graceMs = GRACE } = {}) => {
      stopped ??= stop(graceMs, claims, loop, stopBeside, log);
      return stopped;
    },
  };
}

function namesOf(jobs: WorkerOptions["jobs"]) {
  return {
    names: jobs.map((job) => job.name),
    sending: jobs.flatMap((job) => (job.sends ? [job.name] : [])),
  };
}

type Loop = ReturnType<typeof startLoop>;

/** Claims jobs into free slots until the queue is empty, and again after each wake. */
function startLoop(claims: Claims, concurrency: number, options: WorkerOptions) {
  const { db, jobs } = options;
  const known = namesOf(jobs);
  const slots = openSlots(concurrency);
  const claiming = new Set<Promise<void>>();
  let stopping = false;
  let wakes = 0;
  /** The number of wakes at which the queue last had no due job. */
  let emptyAt = -1;

  const wake = () => {
    wakes++;
    work();
  };
  const nextLook = openTimer(wake);
  const run = runner(claims, options, wake, () => stopping);
  const work = () => {
    if (stopping) return;
    for (let job = slots.start(); job; job = slots.start()) void use(job);
    while (emptyAt < wakes && claiming.size < CLAIMS_AT_ONCE && slots.room() > 0) {
      const claimed = claim(slots.room()).finally(() => {
        claiming.delete(claimed);
        work();
      });
      claiming.add(claimed);
    }
  };
  const use = async (job: ClaimedJob) => {
    await run(job);
    // Claims left its tenant out while it was at its limit.
    if (slots.end(job)) wakes++;
    work();
  };
  const claim = async (limit: number) => {
    const [seen, wanted] = [wakes, { ...known, limit, cap: slots.cap(), held: slots.held() }];
    slots.expect(limit);
    try {
      const claimed = await claims.claim(wanted).finally(() => slots.expect(-limit));
      if (stopping) return await claims.giveBack(claimed);
      slots.add(claimed);
      if (claimed.length > 0) return;
      emptyAt = seen;
      if (seen === wakes) nextLook.set((await untilNext(db)) ?? POLL_EVERY);
    } catch (error) {
      emptyAt = wakes;
      nextLook.set(claims.retry.failed(error));
    }
  };
  work();
  return {
    wake,
    hasRoom: () => !stopping && slots.room() > 0,
    giveBackWaiting: (longest: number) => claims.giveBack(slots.removeWaiting(performance.now() - longest)),
    /** Claims no more. Resolves when claims under way have given their jobs back. */
    stop: async () => {
      stopping = true;
      await Promise.all(claiming);
      nextLook.clear();
    },
  };
}

/** Repeats the work with a pause of `every` milliseconds, until it is stopped. `stop` waits for work under way. */
function repeat(every: number, work: () => Promise<void>) {
  const stopping = new AbortController();
  const pause = { ref: false, signal: stopping.signal };
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      await work();
      await sleep(every, undefined, pause).catch(() => {});
    }
  })();
  return {
    stop: (): Promise<void> => {
      stopping.abort();
      return ended;
    },
  };
}

function openTimer(ring: () => void) {
  let timer: NodeJS.Timeout | undefined;
  return {
    set: (milliseconds: number) => {
      clearTimeout(timer);
      timer = setTimeout(ring, Math.min(POLL_EVERY, Math.max(0, Math.ceil(milliseconds))));
    },
    clear: () => clearTimeout(timer),
  };
}

/** Runs one job, and reports its end to the queue. */
function runner(
  claims: Claims,
  { jobs, log, ...around }: WorkerOptions,
  wake: () => void,
  stopping: () => boolean,
): (job: ClaimedJob) => Promise<void> {
  const known = new Map(jobs.map((job) => [job.name, job]));
  const contexts = jobContexts({ log, ...around }, wake);
  const failed = async (job: ClaimedJob, error: unknown): Promise<string> => {
    const trace = currentActivity()?.traceId;
    const about = { err: error, job: job.name, jobId: job.id, attempt: job.attempts, trace };
    if (isSqlState(error, LEASE_LOST) || !claims.held.has(job)) {
      claims.forget(job);
      log.warn(about, "the job's lease was lost; another worker has the job");
    } else if (stopping()) {
      await claims.giveBack([job]);
    } else {
      const reason = { error: describe(error), interrupted: contexts.interrupted(error) };
      const outcome = await claims.fail(job, reason);
      const { err: _, ...facts } = about;
      if (outcome === "dead") {
        log.error(about, "the job failed for good; it stays in the queue as dead, with its error");
      } else if (reason.interrupted) {
        log.warn({ ...facts, reason: reason.error, outcome }, "the job was interrupted; it runs again later");
      } else log.warn({ ...about, outcome }, "the job failed; it runs again later");
      return outcome;
    }
    return "given_back";
  };
  return async (claimed) => {
    // Its lease was lost while it waited for a slot.
    if (!claims.held.has(claimed)) return;
    const activity = activityOf(claimed.trace);
    const ended = jobRuns.startTimer({ job: claimed.name });
    await withActivity(activity, async () => {
      const job = known.get(claimed.name)!;
      try {
        await job.handler(contexts.of(claimed), job.input.parse(claimed.input));
      } catch (error) {
        ended({ outcome: await failed(claimed, error) });
        if (claimed.merge_key !== null) wake();
        return;
      }
      // No claim took the jobs with its merge key while it ran.
      claims.complete(claimed, claimed.merge_key === null ? undefined : wake);
      const ms = Math.round(ended({ outcome: "done" }) * 1000);
      const about = { job: claimed.name, jobId: claimed.id, attempt: claimed.attempts, ms };
      log.info({ ...about, property: claimed.property_id, trace: activity.traceId }, "job done");
    });
  };
}

function describe(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll("\0", "").slice(0, 2_000);
}

async function stop(
  graceMs: number,
  claims: Claims,
  loop: Loop,
  stopBeside: () => Promise<void>,
  log: Log,
): Promise<void> {
  const claimed = loop.stop();
  for (const job of claims.held) job.stop.abort();
  const back = loop.giveBackWaiting(0);
  const deadline = performance.now() + graceMs;
  while (claims.isOpen() && performance.now() < deadline) await sleep(5);
  const rest = [...claims.held];
  if (rest.length > 0) {
    log.warn({ jobs: rest.map((job) => job.id) }, "stopping; unfinished jobs are given back to the queue");
  }
  const ended = Promise.all([claimed, back, claims.giveBack(rest), claims.completed()]);
  const released = ended.then(claims.releaseUnanswered).catch(claims.retry.failed);
  const late = sleep(GIVING_BACK, undefined, { ref: false });
  await Promise.race([released.then(stopBeside), late]);
  claims.retry.close();
}
