import { setTimeout } from "node:timers/promises";
import type { KeptMessage, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import type { JobContext } from "#runtime/operation.ts";
import { keepMessages } from "#tools/mailbox/keep.ts";
import { type Candidate, stands } from "#tools/providers/choose.ts";
import { type Allowance, release, reserve } from "#tools/providers/limits.ts";
import { handedBack, NOT_TRIED, type Route, type Routes, verdictOn } from "#tools/providers/routes.ts";
import { type Campaign, findCampaign } from "./campaign.ts";
import { type Claim, claimSends, type Rules } from "./claim.ts";
import type { Content } from "./content.ts";
import { handOverTo } from "./hand-over.ts";
import { insist } from "./insist.ts";
import { renderMessages } from "./message.ts";
import { fail } from "./move.ts";
import { giveBackClaim } from "./pace.ts";
import { BUSY_SECONDS, recordOutcomes } from "./record.ts";
import { countErrors, failedInRow } from "./send-errors.ts";

/** While one batch is on its way to the vendor, others are claimed, rendered or recorded. */
export const LANES = 3;
// Longer than this, and the job makes room for the property's others.
const SHIFT_MS = 10_000;
// A provider that takes nothing is left alone for so many seconds.
const REST_SECONDS = 60;
// One that took none of a batch, and did not say how long that lasts.
const DOWN_SECONDS = 15;
// A wait for a provider's rate that is longer than this is left to the queue.
const MOST_WAIT_SECONDS = 2;
// From the check to the hand-over, and to the start of the last message at the vendor.
const READY_WITHIN_MS = 700;
const STARTED_WITHIN_MS = 1000;
const TOO_LATE = ["late", "not_started"];

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
  /** The send after which the lanes begin. */
  after: string | null;
  /** Set when something was given back that a lane has passed. */
  isBehind: boolean;
  /** Set when nothing more may be claimed. */
  stopped: boolean;
  /** In how many seconds a provider may be given more; null when nothing holds the campaign up. */
  resumeIn: number | null;
  /** The send after which the next shift begins; undefined where this one has not ended before the work. */
  reached: string | null | undefined;
}

/** Sends what is due, for the time of a shift. */
export async function runLanes<C extends SendingChannel>(delivery: Delivery<C>): Promise<void> {
  const until = performance.now() + SHIFT_MS;
  const ended = await Promise.allSettled(Array.from({ length: LANES }, () => runOrStop(delivery, until)));
  await delivery.routes.noted();
  const broken = ended.find((lane) => lane.status === "rejected");
  if (broken) throw broken.reason;
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
  let { after } = delivery;
  while (!delivery.stopped && !job.signal.aborted) {
    const checkedAt = performance.now();
    if (checkedAt > until) return endShift(delivery, after);
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
    after = claim.last;
    const late = await handOver(delivery, { route, claim, allowance, checkedAt });
    limit = late ? Math.max(1, Math.floor(limit / 2)) : limit * 2;
  }
}

/** The next shift begins where the lane that got least far has ended. */
function endShift<C extends SendingChannel>(delivery: Delivery<C>, after: string | null): void {
  const { reached } = delivery;
  const isFirst = reached === undefined || (reached !== null && after !== null && after < reached);
  if (isFirst || after === null) delivery.reached = after;
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

/** What was claimed at once, for whom and from when on. */
interface Batch<C extends SendingChannel> {
  route: Route<C>;
  claim: Claim;
  allowance: Allowance;
  /** performance.now() before the claim. */
  checkedAt: number;
}

/** Answers whether some had to be given back because they would have started too long after their check. */
async function handOver<C extends SendingChannel>(delivery: Delivery<C>, batch: Batch<C>): Promise<boolean> {
  const { recipients } = batch.claim;
  if (recipients.length === 0) return false;
  const { job, content, linkOf, repeatable } = delivery;
  const { candidate, sender } = batch.route;
  const readyBy = batch.checkedAt + READY_WITHIN_MS;
  const { messages, refused } = await renderMessages(content, recipients, linkOf, readyBy);
  const signed = messages.map((message) => content.sentBy(candidate, message));
  const record = async (outcomes: SendOutcome[]) => {
    const kept = outcomes.flatMap(({ id }) => delivery.kept.get(id) ?? []);
    const failed = await insist(job, async (context) => {
      await keepMessages(context, kept);
      const recorded = await recordOutcomes(context, job.jobId, { outcomes, messages, repeatable });
      return failedInRow(context, delivery.campaignId, recorded);
    });
    for (const { message } of kept) delivery.kept.delete(message.id);
    return failed;
  };
  const handing = { signal: job.signal, startBy: batch.checkedAt + STARTED_WITHIN_MS };
  const answered = signed.length > 0 ? await handOverTo(sender, signed, handing, record) : [];
  const { sent, refusal } = judged(delivery, batch.route, answered);
  const outcomes = [...refused, ...sent];
  if (outcomes.some(({ status }) => status === "retry")) delivery.isBehind = true;
  // What has been recorded meanwhile is not recorded again.
  const failed = await record(outcomes);
  await settle(delivery, batch, { unsent: outcomes.filter(isUnsent).length, failed, refusal });
  return outcomes.some((outcome) => outcome.status === "retry" && TOO_LATE.includes(outcome.code));
}

/** Whether a message was certainly not taken, and counts against no limit. */
function isUnsent(outcome: SendOutcome): boolean {
  if (outcome.status === "failed") return outcome.code === "template_error";
  if (outcome.status !== "retry") return false;
  return (
    outcome.busy === true || outcome.fatal === true || [...NOT_TRIED, "template_slow"].includes(outcome.code)
  );
}

interface Account {
  unsent: number;
  /** Since the last that was sent. */
  failed: number;
  refusal: SendOutcome | undefined;
}

/** What follows from a recorded batch for the provider's limits, the pace and the campaign. */
async function settle<C extends SendingChannel>(
  delivery: Delivery<C>,
  { route, claim, allowance }: Batch<C>,
  { unsent, failed, refusal }: Account,
): Promise<void> {
  if (unsent === 0 && failed === 0 && !refusal) return;
  await insist(delivery.job, async (context) => {
    await release(context, route.candidate, { ...allowance, granted: unsent });
    await giveBackClaim(context, claim.noted, unsent);
    if (failed > 0) await countErrors(context, delivery.campaignId, failed);
    if (refusal) await failRefused(context, delivery, refusal);
  });
}

/** Leaves a provider that takes nothing: to the next one, which is given what is known not to be sent; or for a while. */
function judged<C extends SendingChannel>(
  delivery: Delivery<C>,
  route: Route<C>,
  answered: SendOutcome[],
): { sent: SendOutcome[]; refusal: SendOutcome | undefined } {
  const verdict = verdictOn(answered);
  delivery.routes.note(route, verdict, answered);
  const isDown = verdict === "failing" || verdict === "refused";
  if (isDown && delivery.routes.leave(route)) return { sent: handedBack(answered), refusal: undefined };
  restIfBusy(delivery, answered, isDown ? DOWN_SECONDS : BUSY_SECONDS);
  if (!isDown) return { sent: answered, refusal: undefined };
  const refusal = answered.find((outcome) => outcome.status === "retry" && outcome.fatal);
  if (refusal) delivery.stopped = true;
  else if (answered.some(({ status }) => status === "unknown")) {
    delivery.stopped = true;
    delivery.resumeIn = REST_SECONDS;
  }
  return { sent: answered, refusal };
}

/** A provider that takes no more for now is asked again when it says, and not with the rest of the campaign before. */
function restIfBusy<C extends SendingChannel>(
  delivery: Delivery<C>,
  answered: SendOutcome[],
  seconds: number,
): void {
  const waits = answered.flatMap((one) =>
    one.status === "retry" && one.busy ? [one.retryAfter ?? seconds] : [],
  );
  if (waits.length === 0) return;
  delivery.stopped = true;
  delivery.resumeIn = Math.max(delivery.resumeIn ?? 0, ...waits);
}

/** The provider refuses the sender: no message will pass until its settings are repaired. */
async function failRefused<C extends SendingChannel>(
  context: Context,
  { campaignId, channel }: Delivery<C>,
  refusal: SendOutcome,
): Promise<void> {
  const { status } = await findCampaign(context, campaignId, { lock: true });
  if (status !== "sending" || refusal.status === "sent") return;
  await fail(context, campaignId, `The ${channel} provider refuses us (${refusal.code}): ${refusal.message}`);
}
