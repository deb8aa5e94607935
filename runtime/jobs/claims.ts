import { randomUUID } from "node:crypto";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { Database } from "#db/database.ts";
import type { QueuedJob } from "#runtime/funnel/outbox.ts";
import type { Log } from "#runtime/log.ts";
import * as leases from "./leases.ts";
import * as queue from "./queue.ts";

/** A job that this process has claimed. */
export interface ClaimedJob extends queue.Claimed {
  /** By performance.now(). */
  claimedAt: number;
  /** Tells the handler that the worker stops, or has lost the lease. */
  stop: AbortController;
}

export type Claims = ReturnType<typeof openClaims>;

const LONGEST_PAUSE = 1_000;

/** The jobs that this process has claimed and not finished, and its reports about them to the queue. */
export function openClaims(db: Database, log: Log, leaseMs: number) {
  const held = new Set<ClaimedJob>();
  const retry = openRetry(log);
  const completions = openCompletions(db, retry);
  const claim = claimer(db, leaseMs);
  const forget = (...jobs: ClaimedJob[]) => {
    for (const job of jobs) held.delete(job);
  };

  return {
    held,
    retry,
    forget,
    releaseUnanswered: claim.releaseUnanswered,
    claim: async (wanted: Wanted): Promise<ClaimedJob[]> => {
      const jobs = await claim.take(wanted);
      retry.succeeded();
      for (const job of jobs) held.add(job);
      return jobs;
    },
    /** `done` is called once the job is off the queue. */
    complete: (job: ClaimedJob, done?: () => void) => {
      forget(job);
      completions.add(job, done);
    },
    fail: async (job: ClaimedJob, reason: { error: string; interrupted: boolean }): Promise<string> => {
      let outcome = "unknown";
      await retry.untilDone(async () => {
        outcome = await leases.fail(db, job, reason);
      });
      forget(job);
      return outcome;
    },
    /** Gives jobs back to the queue as if they had not been claimed. */
    giveBack: async (jobs: readonly ClaimedJob[]) => {
      if (jobs.length > 0) await retry.untilDone(() => leases.release(db, jobs));
      forget(...jobs);
    },
    /** Prolongs the leases. A job without its lease is told to stop. */
    heartbeat: async () => {
      const jobs = [...held];
      if (jobs.length === 0) return;
      const standing = await leases.heartbeat(db, jobs, leaseMs);
      const lost = jobs.filter((job) => held.has(job) && !standing.has(leases.leaseKey(job)));
      for (const job of lost) job.stop.abort();
      forget(...lost);
    },
    /** Whether this process holds a job with the merge key. */
    holds: ({ name, mergeKey }: QueuedJob): boolean => {
      if (mergeKey === undefined) return false;
      for (const job of held) if (job.merge_key === mergeKey && job.name === name) return true;
      return false;
    },
    /** Whether reports about ended jobs are still on their way to the queue. */
    isOpen: () => held.size > 0 || completions.isOpen(),
    /** Resolves when the queue has taken the reports about finished jobs. */
    completed: completions.done,
  };
}

type Wanted = Omit<queue.ClaimOptions, "lease" | "leaseMs">;

/** A failed claim may have been committed all the same: the next claim gives its jobs back. */
function claimer(db: Database, leaseMs: number) {
  const unanswered = new Set<string>();
  const releaseUnanswered = async () => {
    if (unanswered.size === 0) return;
    const tokens = [...unanswered];
    await leases.releaseClaims(db, tokens);
    for (const token of tokens) unanswered.delete(token);
  };
  return {
    releaseUnanswered,
    take: async (wanted: Wanted): Promise<ClaimedJob[]> => {
      await releaseUnanswered();
      const lease = randomUUID();
      const claimed = await queue.claim(db, { ...wanted, lease, leaseMs }).catch((error: unknown) => {
        unanswered.add(lease);
        throw error;
      });
      const claimedAt = performance.now();
      return claimed.map((one) => ({ ...one, claimedAt, stop: new AbortController() }));
    },
  };
}

/** Removes finished jobs from the queue. Jobs that end while one statement runs go with the next. */
function openCompletions(db: Database, retry: Retry) {
  let waiting: ClaimedJob[] = [];
  let callbacks: (() => void)[] = [];
  let completing: Promise<void> | null = null;
  const completeAll = async () => {
    while (waiting.length > 0) {
      await setImmediate();
      const [jobs, done] = [waiting, callbacks];
      [waiting, callbacks] = [[], []];
      await retry.untilDone(() => leases.complete(db, jobs));
      for (const call of done) call();
    }
    completing = null;
  };
  return {
    add: (job: ClaimedJob, done?: () => void) => {
      waiting.push(job);
      if (done) callbacks.push(done);
      completing ??= completeAll();
    },
    isOpen: () => completing !== null,
    done: async () => completing,
  };
}

type Retry = ReturnType<typeof openRetry>;

/** An outage of the database is one line in the log, and its end another, however many retries it takes. */
function openRetry(log: Log) {
  let failures = 0;
  let closed = false;
  /** Milliseconds to wait before the next try. */
  const failed = (error: unknown): number => {
    if (failures === 0 && !closed) log.warn({ err: error }, "the queue's database does not answer; retrying");
    failures++;
    return Math.min(LONGEST_PAUSE, 50 * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);
  };
  const succeeded = () => {
    if (failures > 0) log.info("the queue's database answers again");
    failures = 0;
  };
  return {
    failed,
    succeeded,
    /** Repeats until the database has taken the write, or the worker is closed: then the lease expires by itself. */
    untilDone: async (write: () => Promise<unknown>): Promise<void> => {
      while (!closed) {
        try {
          await write();
          return succeeded();
        } catch (error) {
          await setTimeout(failed(error));
        }
      }
    },
    close: () => {
      closed = true;
    },
  };
}
