import { type JobContext, job } from "#runtime/operation/job.ts";
import { attempt, type Outcome, type Post } from "./attempt.ts";
import { DeliverWebhooks } from "./endpoint.ts";
import { BATCH, type Batch, type Visit, visit } from "./visit.ts";

const CONCURRENCY = 16;
// After this time the job makes room for another endpoint's.
const SHIFT_MS = 10_000;
const BATCH_MS = 15_000;

/** Delivers the due events of one endpoint, until none is due. At least once: a crash repeats a delivery's id. */
export default job({
  ...DeliverWebhooks,
  sends: true,
  async handler(context, { endpointId }) {
    const until = performance.now() + SHIFT_MS;
    const isOver = () => context.signal.aborted || performance.now() > until;
    const look = (outcomes: Outcome[], known: Pick<Visit, "inFlight" | "handOver">) =>
      context.transact((inner) => visit(inner, { endpointId, jobId: context.jobId, outcomes, ...known }));

    let ended: Outcome[] = [];
    let batch = await look(ended, { inFlight: [], handOver: isOver() });
    while (batch) {
      const posting = deliver(postOf(context, batch), batch, context.signal);
      let ahead: Batch | null = null;
      // While a full batch is posted, the previous one is recorded and the next one is claimed.
      if (batch.deliveries.length === BATCH && !isOver()) {
        ahead = await look(ended, { inFlight: batch.deliveries.map(({ id }) => id), handOver: false });
        ended = [];
      }
      ended.push(...(await posting));
      if (ahead && !isOver() && !ended.some(isInVain)) {
        batch = ahead;
      } else {
        batch = await look(ended, { inFlight: [], handOver: isOver() });
        ended = [];
      }
    }
  },
});

function postOf({ runtime, config, propertyId }: JobContext, { endpoint }: Batch): Post {
  const offset = endpoint.clock - performance.now();
  return {
    outgoing: runtime.outgoing,
    prefix: config.headerPrefix,
    propertyId: propertyId ?? "",
    now: () => performance.now() + offset,
  };
}

/**
 * Posts a batch, until an answer shows that further requests are useless. Deliveries that were not started stay due.
 */
async function deliver(post: Post, { endpoint, deliveries }: Batch, signal: AbortSignal): Promise<Outcome[]> {
  const until = performance.now() + BATCH_MS;
  const outcomes: Outcome[] = [];
  let next = 0;
  let stopped = false;
  const postNext = async (most: number) => {
    for (
      let started = 0;
      started < most && !stopped && !signal.aborted && performance.now() < until;
      started += 1
    ) {
      const delivery = deliveries[next++];
      if (!delivery) return;
      const outcome = await attempt(post, endpoint, delivery);
      stopped ||= isInVain(outcome);
      outcomes.push(outcome);
    }
  };
  // One request is enough to test a failing receiver.
  if (endpoint.failing_for !== null) await postNext(1);
  await Promise.all(Array.from({ length: CONCURRENCY }, () => postNext(deliveries.length)));
  return outcomes;
}

function isInVain({ receiver }: Outcome): boolean {
  return receiver.hangs || receiver.gone || receiver.retryAfter > 0;
}
