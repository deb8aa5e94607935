import type { Database, Sql } from "#db/database.ts";
import { semaphore } from "#db/semaphore.ts";
import type { Config } from "#runtime/config.ts";
import { Fault, toFault } from "#runtime/faults.ts";
import { flush, type PendingEvent, type PendingJob } from "#runtime/funnel/outbox.ts";
import type { Directory } from "#runtime/identity/directory.ts";
import type { Sessions } from "#runtime/identity/sessions.ts";
import type { Log } from "#runtime/log.ts";
import type { Call, Context } from "#runtime/operation/context.ts";
import type { JobContext, JobRuntime } from "#runtime/operation/job.ts";
import type { ClaimedJob } from "./claims.ts";
import { fence } from "./queue.ts";

/** The dependencies of jobs, from the composition root. */
export interface JobDependencies {
  db: Database;
  jobRuntime: JobRuntime;
  config: Config;
  directory: Pick<Directory, "property" | "now">;
  sessions: Pick<Sessions, "issue" | "signDetached">;
  log: Log;
}

const TRANSACTION_DEADLINE = 60_000;

/** Makes the contexts of jobs. `wake` is called after a commit that left jobs on the queue. */
export function jobContexts(
  { db, jobRuntime, config, directory, sessions, log }: JobDependencies,
  wake: () => void,
) {
  // One connection stays free for claims and heartbeats, however many jobs have a transaction open.
  const limited = semaphore(Math.max(1, config.databasePool - 1));
  const broken = new WeakSet<object>();
  const guarded = <T>(work: () => Promise<T>): Promise<T> =>
    limited(work).catch((error: unknown) => {
      if (isInterruption(error)) broken.add(error);
      throw error;
    });

  const inProperty = async <T>(claimed: ClaimedJob, work: (context: Context) => Promise<T>): Promise<T> => {
    const property = claimed.property_id && (await directory.property(claimed.property_id));
    if (!property) throw new Fault("not_found", { message: `The job ${claimed.name} has no property.` });
    const events: PendingEvent[] = [];
    const jobs: PendingJob[] = [];
    const call: Call = { actor: { type: "system", id: null }, transport: "job", requestId: claimed.id };
    const context = (sql: Sql): Context => ({
      sql,
      property,
      call,
      config,
      log,
      now: directory.now,
      issueToken: sessions.issue,
      signDetached: sessions.signDetached,
      emit: (type, object, previous) => void events.push({ type, object, previous }),
      enqueue: (job, input, options) =>
        void jobs.push({ name: job.name, attempts: job.attempts, input: job.input.parse(input), ...options }),
      // The audit log covers requests; a job's changes are in the records that it writes.
      audit: () => {},
    });
    const result = await db.asProperty(
      property.id,
      async (sql) => {
        const value = await work(context(sql));
        if (events.length > 0 || jobs.length > 0) await flush(sql, property.id, events, jobs);
        return value;
      },
      { before: fence(claimed), deadline: TRANSACTION_DEADLINE },
    );
    if (events.length > 0 || jobs.length > 0) wake();
    return result;
  };

  return {
    of: (claimed: ClaimedJob): JobContext => ({
      jobId: claimed.id,
      attempt: claimed.attempts,
      isLast: claimed.attempts >= claimed.max_attempts,
      propertyId: claimed.property_id,
      signal: claimed.stop.signal,
      config,
      log: log.child({ job: claimed.name, jobId: claimed.id }),
      runtime: jobRuntime,
      transact: (work) => guarded(() => inProperty(claimed, work)),
      transactSystem: (work) =>
        guarded(() => db.asSystem(work, { before: fence(claimed), deadline: TRANSACTION_DEADLINE })),
    }),
    /** Whether the database broke off one of the job's transactions with this error. */
    interrupted: (error: unknown): boolean =>
      typeof error === "object" && error !== null && broken.has(error),
  };
}

function isInterruption(error: unknown): error is object {
  return !(error instanceof Fault) && toFault(error).code === "unavailable";
}
