import { isSqlState } from "#db/connection/error-code.ts";
import { DeadlineExceeded, TransactionOverrun } from "#db/connection/open.ts";
import { semaphore } from "#db/semaphore.ts";
import { Fault, toFault } from "#runtime/faults.ts";
import { type SystemWork, workAsSystem } from "#runtime/funnel/system-work.ts";
import type { Directory } from "#runtime/identity/directory.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { JobContext, JobRuntime } from "#runtime/operation/job.ts";
import { currentActivity } from "#runtime/telemetry/activity.ts";
import type { ClaimedJob } from "./claims.ts";
import { fence } from "./leases.ts";

/** The dependencies of jobs, from the composition root. */
export interface JobDependencies extends Omit<SystemWork, "wake"> {
  jobRuntime: JobRuntime;
  directory: Pick<Directory, "property" | "now">;
}

const TRANSACTION_DEADLINE = 60_000;

/** Makes the contexts of jobs. `wake` is called after a commit that left jobs on the queue. */
export function jobContexts(dependencies: JobDependencies, wake: SystemWork["wake"]) {
  const { db, jobRuntime, config, directory, log } = dependencies;
  // One connection stays free for claims and heartbeats, however many jobs have a transaction open.
  const limited = semaphore(Math.max(1, config.databasePool - 1));
  const broken = new WeakSet<object>();
  const guarded = <T>({ name }: ClaimedJob, work: () => Promise<T>): Promise<T> =>
    limited(work).catch((error: unknown) => {
      if (isOverrun(error)) throw overrun(name, error);
      if (isInterruption(error)) broken.add(error);
      throw error;
    });

  const inProperty = async <T>(claimed: ClaimedJob, work: (context: Context) => Promise<T>): Promise<T> => {
    const property = claimed.property_id && (await directory.property(claimed.property_id));
    if (!property)
      throw new Fault("not_found", { message: `job ${claimed.name}: it has no property to work in` });
    const about = { property, transport: "job", requestId: claimed.id } as const;
    const options = { before: fence(claimed), deadline: TRANSACTION_DEADLINE };
    return workAsSystem({ ...dependencies, wake }, about, work, options);
  };

  return {
    of: (claimed: ClaimedJob): JobContext => ({
      jobId: claimed.id,
      attempt: claimed.attempts,
      isLast: claimed.attempts >= claimed.max_attempts,
      propertyId: claimed.property_id,
      signal: claimed.stop.signal,
      config,
      log: log.child({ job: claimed.name, jobId: claimed.id, trace: currentActivity()?.traceId }),
      runtime: jobRuntime,
      transact: (work) =>
        guarded(claimed, () => {
          const startedAt = performance.now();
          return inProperty(claimed, (context) => work(context, startedAt));
        }),
      transactSystem: (work) =>
        guarded(claimed, () => db.asSystem(work, { before: fence(claimed), deadline: TRANSACTION_DEADLINE })),
    }),
    /** Whether the database broke off one of the job's transactions with this error. */
    interrupted: (error: unknown): boolean =>
      typeof error === "object" && error !== null && broken.has(error),
  };
}

const QUERY_CANCELED = "57014";

/** The job's own transaction was too slow. It counts as an attempt: with each, a job may do less at a time. */
function isOverrun(error: unknown): boolean {
  if (error instanceof DeadlineExceeded) return error instanceof TransactionOverrun;
  return isSqlState(error, QUERY_CANCELED);
}

function overrun(job: string, cause: unknown): Fault {
  const seconds = TRANSACTION_DEADLINE / 1000;
  return new Fault("unavailable", {
    message: `A transaction of the job ${job} took longer than its ${seconds} seconds and was rolled back. Look for slow statements and held locks in PostgreSQL, then run it again.`,
    cause,
  });
}

function isInterruption(error: unknown): error is object {
  return !(error instanceof Fault) && toFault(error).code === "unavailable";
}
