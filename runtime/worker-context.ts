import type { Database, Sql } from "#db/client.ts";
import type { Config } from "./config.ts";
import type { Call, Context } from "./context.ts";
import type { Directory } from "./directory.ts";
import { Fault, toFault } from "./faults.ts";
import type { Log } from "./log.ts";
import type { JobContext, JobRuntime } from "./operation.ts";
import { flush, type PendingEvent, type PendingJob } from "./outbox.ts";
import { fence } from "./queue.ts";
import type { Sessions } from "./sessions.ts";
import type { Held } from "./worker-slots.ts";

/** What jobs are run with, from the composition root. */
export interface Surroundings {
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
  { db, jobRuntime, config, directory, sessions, log }: Surroundings,
  wake: () => void,
) {
  // One connection is kept for claims and heartbeats, however many jobs have a transaction open.
  const limited = limiter(Math.max(1, config.databasePool - 1));
  const broken = new WeakSet<object>();
  const guarded = <T>(work: () => Promise<T>): Promise<T> =>
    limited(work).catch((error: unknown) => {
      if (isInterruption(error)) broken.add(error);
      throw error;
    });

  const inProperty = async <T>(held: Held, work: (context: Context) => Promise<T>): Promise<T> => {
    const property = held.property_id && (await directory.property(held.property_id));
    if (!property)
      throw new Fault("not_found", { message: `job ${held.name}: it has no property to work in` });
    const events: PendingEvent[] = [];
    const jobs: PendingJob[] = [];
    const call: Call = { actor: { type: "system", id: null }, transport: "job", requestId: held.id };
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
      // The audit log tells of requests; what a job did is in the records that it wrote.
      audit: () => {},
    });
    const result = await db.asProperty(
      property.id,
      async (sql) => {
        const value = await work(context(sql));
        if (events.length > 0 || jobs.length > 0) await flush(sql, property.id, events, jobs);
        return value;
      },
      { before: fence(held), deadline: TRANSACTION_DEADLINE },
    );
    if (events.length > 0 || jobs.length > 0) wake();
    return result;
  };

  return {
    of: (held: Held): JobContext => ({
      jobId: held.id,
      attempt: held.attempts,
      isLast: held.attempts >= held.max_attempts,
      propertyId: held.property_id,
      signal: held.stop.signal,
      config,
      log: log.child({ job: held.name, jobId: held.id }),
      runtime: jobRuntime,
      transact: (work) => guarded(() => inProperty(held, work)),
      transactSystem: (work) =>
        guarded(() => db.asSystem(work, { before: fence(held), deadline: TRANSACTION_DEADLINE })),
    }),
    /** Whether a job's error is the database's own trouble, met in one of the job's transactions. */
    interrupted: (error: unknown): boolean =>
      typeof error === "object" && error !== null && broken.has(error),
  };
}

function isInterruption(error: unknown): error is object {
  return !(error instanceof Fault) && toFault(error).code === "unavailable";
}

function limiter(most: number) {
  const line: (() => void)[] = [];
  let open = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (open < most) open++;
    else await new Promise<void>((resolve) => line.push(resolve));
    try {
      return await work();
    } finally {
      const next = line.shift();
      if (next) next();
      else open--;
    }
  };
}
