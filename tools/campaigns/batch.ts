import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import { STARTED_WITHIN_MS } from "#tools/compliance/open-sends.ts";
import { keepMessages } from "#tools/mailbox/keep.ts";
import { type Allowance, release } from "#tools/providers/limits.ts";
import { handedBack, NOT_TRIED, type Route, verdictOn } from "#tools/providers/routes.ts";
import { findCampaign } from "./campaign.ts";
import type { Claim } from "./claim.ts";
import { handOverTo } from "./hand-over.ts";
import { insist } from "./insist.ts";
import type { Delivery } from "./lanes.ts";
import { renderMessages } from "./message.ts";
import { fail } from "./move.ts";
import { giveBackClaim } from "./pace.ts";
import { BUSY_SECONDS, recordOutcomes } from "./record.ts";
import { countErrors, failedInRow } from "./send-errors.ts";

// A provider that takes nothing is left alone for so many seconds.
const REST_SECONDS = 60;
// One that took none of a batch, and did not say how long that lasts.
const DOWN_SECONDS = 15;
// From the check to the hand-over.
const READY_WITHIN_MS = 700;
const TOO_LATE = ["late", "not_started"];
// Of what a provider takes at once, the part that lanes may leave behind while it is silent.
const MOST_SILENT = 1 / 4;

/** What was claimed at once, for whom and from when on. */
export interface Batch<C extends SendingChannel> {
  route: Route<C>;
  claim: Claim;
  allowance: Allowance;
  /** performance.now() before the claim. */
  checkedAt: number;
}

/**
 * Renders a batch, hands it over and records what became of it. A message that its vendor is silent about does not
 * hold up the lane while others are taken: it is recorded when it is known. Answers whether some had to be given
 * back because they would have started too long after their check.
 */
export async function handOver<C extends SendingChannel>(
  delivery: Delivery<C>,
  batch: Batch<C>,
): Promise<boolean> {
  const { recipients } = batch.claim;
  if (recipients.length === 0) return false;
  const { job, content, linkOf } = delivery;
  const { candidate, sender } = batch.route;
  const readyBy = batch.checkedAt + READY_WITHIN_MS;
  const { messages, refused } = await renderMessages(content, recipients, linkOf, readyBy);
  const signed = messages.map((message) => content.sentBy(candidate, message));
  const record = recorder(delivery, messages);
  const end = async (answered: SendOutcome[]) => {
    const { sent, refusal } = judged(delivery, batch.route, answered);
    const outcomes = [...refused, ...sent];
    if (outcomes.some(({ status }) => status === "retry")) delivery.isBehind = true;
    // What has been recorded meanwhile is not recorded again.
    const failed = await record(outcomes);
    await settle(delivery, batch, { unsent: outcomes.filter(isUnsent).length, failed, refusal });
    return outcomes;
  };
  if (signed.length === 0) return wereLate(await end([]));
  const handing = { signal: job.signal, startBy: batch.checkedAt + STARTED_WITHIN_MS };
  const most = Math.max(1, Math.floor(sender.concurrency * MOST_SILENT));
  const mayLeave = (silent: number) => delivery.silent + silent <= most;
  const { known, silent, ended } = await handOverTo(sender, signed, handing, { record, mayLeave });
  if (silent === 0) return wereLate(await end(await ended));
  leave(delivery, silent, ended.then(end));
  return wereLate(known);
}

/** Writes outcomes of these messages, with what `mailbox` was given. Answers how many have failed since the last that was sent. */
function recorder<C extends SendingChannel>(delivery: Delivery<C>, messages: Messages[C][]) {
  const { job, campaignId, repeatable } = delivery;
  return async (outcomes: SendOutcome[]): Promise<number> => {
    const kept = outcomes.flatMap(({ id }) => delivery.kept.get(id) ?? []);
    const failed = await insist(job, async (context) => {
      await keepMessages(context, kept);
      const recorded = await recordOutcomes(context, job.jobId, { outcomes, messages, repeatable });
      return failedInRow(context, campaignId, recorded);
    });
    for (const { message } of kept) delivery.kept.delete(message.id);
    return failed;
  };
}

/** The job waits for them at its end, so that they stay under its lease. */
function leave<C extends SendingChannel>(
  delivery: Delivery<C>,
  silent: number,
  ended: Promise<unknown>,
): void {
  delivery.silent += silent;
  const done = (result: { error: unknown } | null) => {
    delivery.silent -= silent;
    if (result) delivery.stopped = true;
    return result;
  };
  delivery.left.push(
    ended.then(
      () => done(null),
      (error: unknown) => done({ error }),
    ),
  );
}

function wereLate(outcomes: readonly SendOutcome[]): boolean {
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
