import { type JobContext, job } from "#runtime/operation/job.ts";
import type { Post } from "./attempt.ts";
import { DeliverWebhooks } from "./endpoint.ts";
import { openPosting } from "./posting.ts";
import { type DeliveryBatch, type Visit, visit } from "./visit.ts";

// After this time the job makes room for another endpoint's.
const SHIFT_MS = 30_000;

/**
 * Delivers the due events of one endpoint, until none is due. Its requests go on while a visit records their outcomes
 * and claims more. At least once: a crash repeats a delivery's id.
 */
export default job({
  ...DeliverWebhooks,
  sends: true,
  async handler(context, { endpointId }) {
    const until = performance.now() + SHIFT_MS;
    const isOver = () => context.signal.aborted || performance.now() > until;
    const posting = openPosting(isOver);
    const look = (known: Omit<Visit, "endpointId" | "jobId" | "handOver">) =>
      context.transact((inner) =>
        visit(inner, { endpointId, jobId: context.jobId, handOver: isOver(), ...known }),
      );
    try {
      for (let batch = await look(posting.take()); batch; batch = await look(posting.take())) {
        if (batch.isOpen) posting.add(postOf(context, batch), batch);
        else posting.stop();
        await posting.wantsVisit();
      }
    } finally {
      posting.stop();
    }
  },
});

function postOf({ runtime, config, propertyId }: JobContext, { endpoint }: DeliveryBatch): Post {
  const offset = endpoint.clock - performance.now();
  return {
    outgoing: runtime.outgoing,
    prefix: config.headerPrefix,
    propertyId: propertyId ?? "",
    now: () => performance.now() + offset,
  };
}
