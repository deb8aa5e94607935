import type { CallReading } from "#runtime/channels/provider/channel.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { SETTLE_CALLS } from "#tools/voice-calls/call.ts";
import { noteSilence, type SilentCall, settleNext, silentCalls } from "#tools/voice-calls/silent.ts";
import { takeCallNews } from "../call-news.ts";
import { clean } from "../notice.ts";
import { type CallProvider, callbacksOfCalls, callProviderOf } from "./call-provider.ts";

/** Questions to vendors at the same time. */
const AT_ONCE = 5;

/** Asks vendors for the calls that they have not reported. One without an end is asked for again, or becomes unknown. */
export default job({
  ...SETTLE_CALLS,
  async handler(job) {
    const calls = await job.transact(silentCalls);
    for (let start = 0; start < calls.length && !job.signal.aborted; start += AT_ONCE) {
      await Promise.all(calls.slice(start, start + AT_ONCE).map((call) => settle(job, call)));
    }
    await job.transact(settleNext);
  },
});

async function settle(job: JobContext, call: SilentCall): Promise<void> {
  const provider = await job.transact((context) => callProviderOf(context, call));
  const answer = await ask(job, provider, call);
  await job.transact(async (context) => {
    if (answer === "no_id" || answer.state !== "told") {
      return noteSilence(context, call, answer === "no_id" ? answer : answer.state);
    }
    for (const notice of answer.notices.map(clean)) {
      if (notice.kind === "call") await takeCallNews(context, provider!, notice);
    }
  });
}

async function ask(
  job: JobContext,
  provider: CallProvider | undefined,
  { call_id, send_id }: SilentCall,
): Promise<CallReading | "no_id"> {
  if (!provider || call_id === null) return "no_id";
  try {
    const read = callbacksOfCalls(job, provider)?.read;
    if (!read) return "no_id";
    return await read({ callId: call_id, sendId: send_id, at: Date.now() });
  } catch (error) {
    job.log.warn({ err: error, provider: provider.id }, "a vendor could not be asked for a call");
    return { state: "unavailable" };
  }
}
