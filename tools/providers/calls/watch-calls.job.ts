import { type JobContext, job } from "#runtime/operation/job.ts";
import { WATCH_CALLS, watchCalls } from "#tools/voice-calls/call.ts";
import {
  barredAmong,
  CALLS_AT_ONCE,
  type LiveCall,
  liveCalls,
  noteStopped,
} from "#tools/voice-calls/watch.ts";
import { callbacksOfCalls, callProviderOf } from "./call-provider.ts";

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

/** A vendor that does not take the request gets it again at the next look. */
async function stop(job: JobContext, { id, send_id, call_id, provider_id }: LiveCall): Promise<void> {
  try {
    const provider = await job.transact((context) => callProviderOf(context, { provider_id }));
    const end = provider && callbacksOfCalls(job, provider)?.end;
    if (!end || !(await end({ sendId: send_id, callId: call_id }))) return;
    await job.transact((context) => noteStopped(context, id));
  } catch (error) {
    job.log.warn({ err: error, provider: provider_id }, "a vendor could not be told to end a call");
  }
}
