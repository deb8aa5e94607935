import { setTimeout } from "node:timers/promises";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Candidate, stands } from "#tools/providers/choose.ts";
import { type Allowance, release, reserve } from "#tools/providers/limits.ts";
import type { Route } from "#tools/providers/routes.ts";
import { roomForCalls } from "#tools/voice-calls/call.ts";
import { deliverBatch } from "./batch.ts";
import { type Claim, claimSends, type WaitingRules } from "./claim.ts";
import type { Delivery } from "./delivery.ts";

/** While the vendor has one batch, others are claimed, rendered or recorded. */
export const PARALLEL_BATCHES = 3;
// Then the job makes room for the property's other jobs.
const SHIFT_MS = 10_000;
// The first message to a provider that last took none: it may silently lose all that it gets.
const PROBE = 1;
// Many campaigns may begin at once: with full batches most of their messages would come too late after the check.
const FIRST_BATCH = 50;
// A batch grows by this factor until one has late messages. Then doubling would make every third too large again.
const GROWTH = 2;
const CAREFUL_GROWTH = 1.2;
// A longer wait for a provider's rate is left to the queue.
const MOST_WAIT_SECONDS = 2;

/** Sends due messages for the time of a shift. */
export async function runShift<C extends SendingChannel>(delivery: Delivery<C>): Promise<void> {
  const until = performance.now() + SHIFT_MS;
  const count = isDown(delivery.routes.current()) ? 1 : PARALLEL_BATCHES;
  const loops = Array.from({ length: count }, () => loopOrStop(delivery, until));
  const failed = (await Promise.allSettled(loops)).find((loop) => loop.status === "rejected");
  const unrecorded = (await Promise.all(delivery.recordings)).find((result) => result !== null);
  await delivery.routes.noted();
  if (failed) throw failed.reason;
  if (unrecorded) throw unrecorded.error;
}

/** Whether a provider took nothing when it was asked last. */
function isDown({ candidate }: Pick<Route, "candidate">): boolean {
  return candidate.health === "failing";
}

async function loopOrStop<C extends SendingChannel>(delivery: Delivery<C>, until: number): Promise<void> {
  try {
    await deliverBatches(delivery, until);
  } catch (error) {
    delivery.stopped = true;
    throw error;
  }
}

/** Claims and delivers batch after batch, until nothing is due or the shift ends. */
async function deliverBatches<C extends SendingChannel>(delivery: Delivery<C>, until: number): Promise<void> {
  const { job, routes } = delivery;
  let limit = FIRST_BATCH;
  let growth = GROWTH;
  while (!delivery.stopped && !job.signal.aborted) {
    const { after } = delivery;
    if (performance.now() > until) {
      delivery.reached = after;
      return;
    }
    const route = routes.current();
    // Until it takes a message: one that is skipped, or has a fault of its own, proves nothing.
    if (isDown(route)) limit = PROBE;
    limit = Math.min(limit, Math.max(1, route.sender.concurrency / PARALLEL_BATCHES));
    // The wait for a connection is no part of the check's age: counted in, it made every batch of a busy process late.
    const { claim, allowance, checkedAt } = await job.transact(async (context, startedAt) => ({
      ...(await claimWithin(context, delivery, route.candidate, after, Math.floor(limit))),
      checkedAt: startedAt,
    }));
    if (!allowance) {
      // The provider has changed meanwhile: the next job chooses anew.
      delivery.stopped = true;
      return;
    }
    if (!claim) {
      await awaitAllowance(delivery, route, allowance);
      continue;
    }
    if (claim.status !== "sending") return;
    // The campaign was edited while it was paused: the next job compiles it and chooses the provider anew.
    if (claim.version !== delivery.campaign.version) return;
    if (!coversAll(delivery.rules, claim.rules)) {
      delivery.rules = claim.rules;
      continue;
    }
    // Sends that come due before `after` are left to the next job, which begins with the first provider again.
    if (claim.taken === 0 && (after === null || !delivery.isBehind)) return;
    advance(delivery, claim.last);
    const late = await deliverBatch(delivery, { route, claim, allowance, checkedAt });
    if (late > 0) growth = CAREFUL_GROWTH;
    // Late messages were claimed for nothing.
    limit = late === 0 ? limit * growth : Math.max(1, limit / 2, claim.recipients.length - late);
  }
}

/** All calls that a provider may make at once are under way: some end within seconds. */
const FULL: Allowance = { granted: 0, wait: 3, spent: false, day: null };

/**
 * Claims as many as the provider's limits allow now. The claim is null when they allow none, and the allowance is null
 * when the provider has changed since the job chose it.
 */
async function claimWithin<C extends SendingChannel>(
  context: Context,
  { job, campaign, channel, rules, callSeconds }: Delivery<C>,
  provider: Candidate,
  after: string | null,
  most: number,
): Promise<{ claim: Claim | null; allowance: Allowance | null }> {
  if (!(await stands(context, provider))) return { claim: null, allowance: null };
  const room = channel === "voice" ? await roomForCalls(context, provider) : most;
  if (room === 0) return { claim: null, allowance: FULL };
  const allowance = await reserve(context, provider, Math.min(most, room));
  const { granted: limit } = allowance;
  if (limit === 0) return { claim: null, allowance };
  const request = { campaign, channel, provider, rules, callSeconds, after, limit };
  const claim = await claimSends(context, job.jobId, request);
  await release(context, provider, { ...allowance, granted: limit - claim.recipients.length });
  return { claim, allowance };
}

/** Waits for the provider's rate. A longer limit is left to the next provider, or to a later shift. */
async function awaitAllowance<C extends SendingChannel>(
  delivery: Delivery<C>,
  route: Route<C>,
  { wait, spent }: Allowance,
): Promise<void> {
  if (!spent && wait <= MOST_WAIT_SECONDS) {
    const { signal } = delivery.job;
    await setTimeout(wait * 1000, undefined, { signal }).catch(() => {});
    return;
  }
  if (spent && delivery.routes.leave(route)) return;
  delivery.stopped = true;
  delivery.resumeIn = wait;
}

/** Whether a claim asked for all rules that concern the campaign. */
function coversAll(requested: WaitingRules, found: WaitingRules): boolean {
  return (requested.hours || !found.hours) && (requested.caps || !found.caps);
}

/** Past the claimed sends; back to the start when nothing was claimed. */
function advance<C extends SendingChannel>(delivery: Delivery<C>, last: string | null): void {
  const { after } = delivery;
  if (last === null || after === null || after < last) delivery.after = last;
}
