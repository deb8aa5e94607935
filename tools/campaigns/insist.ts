import { setTimeout } from "node:timers/promises";
import type { Context } from "#runtime/context.ts";
import { toFault } from "#runtime/faults.ts";
import type { JobContext } from "#runtime/operation.ts";

const LONGEST_PAUSE_MS = 1_000;
// Of a worker that stops: it gives its jobs back after ten seconds.
const TRIES_AFTER_STOP = 10;

/**
 * A transaction for what is known and must not be lost: begun again when the database breaks it off, or a lock is
 * not to be had, for as long as the job's lease stands.
 */
export async function insist<T>(job: JobContext, work: (context: Context) => Promise<T>): Promise<T> {
  let afterStop = 0;
  for (let pause = 50; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await job.transact(work);
    } catch (error) {
      if (job.signal.aborted) afterStop += 1;
      if (toFault(error).code !== "unavailable" || afterStop > TRIES_AFTER_STOP) throw error;
      job.log.warn({ err: error }, "what became of messages is not recorded yet; it is tried again");
      await setTimeout(pause * (0.5 + Math.random() / 2));
    }
  }
}
