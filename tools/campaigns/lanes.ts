import { setTimeout } from "node:timers/promises";
import type { KeptMessage, SendingChannel } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import type { JobContext } from "#runtime/operation.ts";
import { type Candidate, stands } from "#tools/providers/choose.ts";
import { type Allowance, release, reserve } from "#tools/providers/limits.ts";
import type { Route, Routes } from "#tools/providers/routes.ts";
import { handOver } from "./batch.ts";
import type { Campaign } from "./campaign.ts";
import { type Claim, claimSends, type Rules } from "./claim.ts";
import type { Content } from "./content.ts";

/** While one batch is on its way to the vendor, others are claimed, rendered or recorded. */
export const LANES = 3;
// Longer than this, and the job makes room for the property's others.
const SHIFT_MS = 10_000;
// A wait for a provider's rate that is longer than this is left to the queue.
const MOST_WAIT_SECONDS = 2;

/** What the lanes of one job share. */
export interface Delivery<C extends SendingChannel> {
  job: JobContext;
  campaignId: string;
  channel: C;
  routes: Routes<C>;
  /** By the send's id: what `mailbox` was given. It is written where it is recorded as sent. */
  kept: Map<string, KeptMessage>;
  /** Compiled from the `campaign` as it was read. */
  content: Content<C>;
  campaign: Campaign;
  /** What bears on the campaign, as far as a claim has told. */
  rules: Rules;
  linkOf(sendId: string): string;
  /** What the vendor may have is sent once more, by the same vendor. */
  repeatable: boolean;
  /** The send after which the next claim looks: all before it have been claimed, or were passed over. */
  after: string | null;
  /** Set when something was given back that a lane has passed. */
  isBehind: boolean;
  /** Set when nothing more may be claimed. */
  stopped: boolean;
  /** In how many seconds a provider may be given more; null when nothing holds the campaign up. */
  resumeIn: number | null;
  /** How many messages the lanes have left behind that their vendor is silent about. */
  silent: number;
  /** What becomes of those, each settled or with the error that kept it from being recorded. */
  left: Promise<{ error: unknown } | null>[];
  /** The send after which the next shift begins; undefined where this one has not ended before the work. */
  reached: string | null | undefined;
}

/** Sends what is due, for the time of a shift. */
export async function runLanes<C extends SendingChannel>(delivery: Delivery<C>): Promise<void> {
  const until = performance.now() + SHIFT_MS;
  const ended = await Promise.allSettled(Array.from({ length: LANES }, () => runOrStop(delivery, until)));
  const broken = ended.find((lane) => lane.status === "rejected");
  const lost = (await Promise.all(delivery.left)).find((one) => one !== null);
  await delivery.routes.noted();
  if (broken) throw broken.reason;
  if (lost) throw lost.error;
}

async function runOrStop<C extends SendingChannel>(delivery: Delivery<C>, until: number): Promise<void> {
  try {
    await run(delivery, until);
  } catch (error) {
    delivery.stopped = true;
    throw error;
  }
}

/** One lane: claim, render, hand over, record, until nothing is due or the shift ends. */
async function run<C extends SendingChannel>(delivery: Delivery<C>, until: number): Promise<void> {
  const { job, routes } = delivery;
  let limit = Number.POSITIVE_INFINITY;
  while (!delivery.stopped && !job.signal.aborted) {
    const checkedAt = performance.now();
    const { after } = delivery;
    if (checkedAt > until) {
      delivery.reached = after;
      return;
    }
    const route = routes.current();
    limit = Math.min(limit, Math.max(1, Math.floor(route.sender.concurrency / LANES)));
    const { claim, allowance } = await job.transact((context) =>
      claimWithin(context, delivery, route.candidate, after, limit),
    );
    // Changed or taken away meanwhile: the next job chooses anew.
    if (!allowance) return stop(delivery);
    if (!claim) {
      await awaitAllowance(delivery, route, allowance);
      continue;
    }
    if (claim.status !== "sending") return;
    // Edited while the campaign was paused: the next job compiles it anew, and chooses the provider anew.
    if (claim.version !== delivery.campaign.version) return;
    if (!claimedUnder(delivery.rules, claim.rules)) {
      delivery.rules = claim.rules;
      continue;
    }
    // What has come due behind the lanes is the next job's, which begins with the first provider again.
    if (claim.taken === 0 && (after === null || !delivery.isBehind)) return;
    goOn(delivery, claim.last);
    const late = await handOver(delivery, { route, claim, allowance, checkedAt });
    limit = late ? Math.max(1, Math.floor(limit / 2)) : limit * 2;
  }
}

/** Past what was claimed; from the start again, where nothing was. */
function goOn<C extends SendingChannel>(delivery: Delivery<C>, last: string | null): void {
  const { after } = delivery;
  if (last === null || after === null || after < last) delivery.after = last;
}

function stop<C extends SendingChannel>(delivery: Delivery<C>): void {
  delivery.stopped = true;
}

/** Whether a claim was asked for under all the rules that there are. */
function claimedUnder(asked: Rules, found: Rules): boolean {
  return (asked.hours || !found.hours) && (asked.caps || !found.caps);
}

/**
 * Claims no more than the provider may be given now; no claim at all when that is nothing, and no allowance either
 * when the provider is not what it was when the job chose it.
 */
async function claimWithin<C extends SendingChannel>(
  context: Context,
  { job, campaign, channel, rules }: Delivery<C>,
  provider: Candidate,
  after: string | null,
  most: number,
): Promise<{ claim: Claim | null; allowance: Allowance | null }> {
  if (!(await stands(context, provider))) return { claim: null, allowance: null };
  const allowance = await reserve(context, provider, most);
  const { granted: limit } = allowance;
  if (limit === 0) return { claim: null, allowance };
  const wanted = { campaign, channel, provider, rules, after, limit };
  const claim = await claimSends(context, job.jobId, wanted);
  await release(context, provider, { ...allowance, granted: limit - claim.recipients.length });
  return { claim, allowance };
}

/** Waits for the provider's rate. A limit that is reached for longer is another provider's turn, or another day's. */
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
