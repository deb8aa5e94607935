import { type JobContext, job } from "#runtime/operation/job.ts";
import { WATCH_CALLS, watchCalls } from "#tools/voice-calls/call.ts";
import {
  barredAmong,
  CALLS_AT_ONCE,
  type LiveCall,
  liveCalls,
  noteRefusal,
  noteStopped,
} from "#tools/voice-calls/watch.ts";
import { type CallProvider, callbacksOfCalls, callProviderOf } from "./call-provider.ts";

/** Requests to vendors at the same time. */
const AT_ONCE = 20;

/** Has vendors end the calls whose person was barred in mid-call, and looks again while there are live calls. */
export default job({
  ...WATCH_CALLS,
  async handler(job) {
    let last: LiveCall | undefined;
    let seen: LiveCall[];
    do {
      seen = await job.transact((context) => liveCalls(context, last));
      await stopBarred(job, seen);
      last = seen.at(-1) ?? last;
    } while (seen.length === CALLS_AT_ONCE && !job.signal.aborted);
    if (last) await job.transact(async (context) => watchCalls(context));
  },
});

async function stopBarred(job: JobContext, calls: readonly LiveCall[]): Promise<void> {
  const barred = await job.transact((context) => barredAmong(context, calls));
  for (let start = 0; start < barred.length && !job.signal.aborted; start += AT_ONCE) {
    await Promise.all(barred.slice(start, start + AT_ONCE).map((call) => stop(job, call)));
  }
}

/** A vendor that does not take the request gets it again, after a rest that grows. */
async function stop(job: JobContext, call: LiveCall): Promise<void> {
  const provider = await job.transact((context) => callProviderOf(context, call));
  const isTaken = provider !== undefined && (await endAt(job, provider, call));
  await job.transact((context) => (isTaken ? noteStopped(context, call.id) : noteRefusal(context, call)));
}

async function endAt(
  job: JobContext,
  provider: CallProvider,
  { send_id: sendId, call_id: callId }: LiveCall,
): Promise<boolean> {
  try {
    if (await callbacksOfCalls(job, provider)?.end?.({ sendId, callId })) return true;
    job.log.warn({ provider: provider.id, sendId }, "a vendor did not take the request to end a call");
  } catch (error) {
    job.log.warn({ err: error, provider: provider.id }, "a vendor could not be told to end a call");
  }
  return false;
}
