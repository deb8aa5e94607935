import type { Messages, SendingChannel, SendOutcome } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { fail, findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { renderMessages } from "#tools/campaigns/content/render-messages.ts";
import { STARTED_WITHIN_MS } from "#tools/compliance/sends-under-way.ts";
import { storeMessages } from "#tools/mailbox/store-messages.ts";
import { type Allowance, release } from "#tools/providers/limits.ts";
import { rehearse } from "#tools/providers/rehearsal.ts";
import { handedBack, NOT_TRIED, type Route, verdictOn } from "#tools/providers/routes.ts";
import { noteDevices } from "#tools/push-subscriptions/subscription.ts";
import { openCalls } from "#tools/voice-calls/call.ts";
import type { Claim } from "./claim.ts";
import type { Delivery } from "./delivery.ts";
import { giveBackClaim } from "./pace.ts";
import { BUSY_SECONDS, countErrors, failedInRow, recordOutcomes, untilRecorded } from "./record-outcomes.ts";
import type { ProviderIdentity } from "./repeats.ts";
import { sendMessages } from "./send-messages.ts";

// The pause of a provider that takes nothing.
const REST_SECONDS = 60;
// The pause of a provider that took none of a batch, and named no time.
const DOWN_SECONDS = 15;
// From the gate's check to the hand-over.
const READY_WITHIN_MS = 700;
const TOO_LATE = ["late", "not_started"];
// The share of a provider's concurrency that may stay unanswered while the loops go on.
const MOST_UNANSWERED = 1 / 4;

/** The sends of one claim, for one provider. */
export interface SendBatch<C extends SendingChannel> {
  route: Route<C>;
  claim: Claim;
  allowance: Allowance;
  /** performance.now() before the claim's transaction began. */
  checkedAt: number;
}

/**
 * Renders a batch, sends it and records the outcomes. Messages without the vendor's answer are recorded later: the loop
 * goes on while the vendor takes others. Answers the number of messages that came too late after their check.
 */
export async function deliverBatch<C extends SendingChannel>(
  delivery: Delivery<C>,
  batch: SendBatch<C>,
): Promise<number> {
  const { recipients } = batch.claim;
  if (recipients.length === 0) return 0;
  const { job, content, linkOf } = delivery;
  const { candidate, sender } = batch.route;
  const readyBy = batch.checkedAt + READY_WITHIN_MS;
  const { messages, unrendered } = await renderMessages(content, recipients, linkOf, readyBy);
  const signed = messages.map((message) => content.sentBy(candidate, message));
  const record = recorder(delivery, candidate.id, messages);
  const conclude = async (answered: SendOutcome[]) => {
    const { sent, refusal } = judgeProvider(delivery, batch.route, answered);
    const outcomes = [...unrendered, ...sent];
    if (outcomes.some(({ status }) => status === "retry")) delivery.isBehind = true;
    // Outcomes that were recorded during the sending are not recorded again.
    const failed = await record(outcomes);
    await settle(delivery, batch, { unsent: outcomes.filter(isUnsent).length, failed, refusal });
    return outcomes;
  };
  if (signed.length === 0) return countLate(await conclude([]));
  await noteCalls(delivery, candidate, signed);
  const options = { signal: job.signal, startBy: batch.checkedAt + STARTED_WITHIN_MS };
  const most = Math.max(1, Math.floor(sender.concurrency * MOST_UNANSWERED));
  const mayLeave = (unanswered: number) => delivery.unanswered + unanswered <= most;
  const { known, unanswered, ended } = await sendMessages(sender, signed, options, { record, mayLeave });
  if (unanswered === 0) return countLate(await conclude(await ended));
  recordLater(delivery, unanswered, ended.then(conclude));
  return countLate(known);
}

/** A vendor's news of a call may come before its answer to us, so the call is written first. */
async function noteCalls<C extends SendingChannel>(
  { job, channel }: Delivery<C>,
  provider: ProviderIdentity,
  messages: readonly Messages[SendingChannel][],
): Promise<void> {
  if (channel !== "voice" || provider.name === "simulator") return;
  const calls = messages.flatMap((message) => ("script" in message ? [message] : []));
  await job.transact((context) => openCalls(context, provider, calls));
}

/** Records outcomes of these messages, and stores the ones in `mailbox`. Answers the failures since the last success. */
function recorder<C extends SendingChannel>(
  delivery: Delivery<C>,
  providerId: string | null,
  messages: Messages[C][],
) {
  const { job, campaignId, repeatable } = delivery;
  return async (outcomes: SendOutcome[]): Promise<number> => {
    const kept = outcomes.flatMap(({ id }) => delivery.kept.get(id) ?? []);
    const failed = await untilRecorded(job, async (context) => {
      await storeMessages(context, kept);
      rehearse(context, providerId, kept);
      await noteDevices(context, outcomes);
      const recorded = await recordOutcomes(context, job.jobId, { outcomes, messages, repeatable });
      return failedInRow(context, campaignId, recorded);
    });
    for (const { message } of kept) delivery.kept.delete(message.id);
    return failed;
  };
}

/** Leaves a recording to the end of the shift: the job waits for it there, under its lease. */
function recordLater<C extends SendingChannel>(
  delivery: Delivery<C>,
  unanswered: number,
  recording: Promise<unknown>,
): void {
  delivery.unanswered += unanswered;
  const done = (result: { error: unknown } | null) => {
    delivery.unanswered -= unanswered;
    if (result) delivery.stopped = true;
    return result;
  };
  delivery.recordings.push(
    recording.then(
      () => done(null),
      (error: unknown) => done({ error }),
    ),
  );
}

function countLate(outcomes: readonly SendOutcome[]): number {
  return outcomes.filter((outcome) => outcome.status === "retry" && TOO_LATE.includes(outcome.code)).length;
}

/** Whether the vendor certainly did not take a message, so it counts against no limit. */
function isUnsent(outcome: SendOutcome): boolean {
  if (outcome.status === "failed") return outcome.code === "template_error";
  if (outcome.status !== "retry") return false;
  return (
    outcome.busy === true || outcome.fatal === true || [...NOT_TRIED, "template_slow"].includes(outcome.code)
  );
}

interface BatchResult {
  unsent: number;
  /** Since the last success. */
  failed: number;
  refusal: SendOutcome | undefined;
}

/** Applies a recorded batch to the provider's limits, the campaign's pace and its errors. */
async function settle<C extends SendingChannel>(
  delivery: Delivery<C>,
  { route, claim, allowance }: SendBatch<C>,
  { unsent, failed, refusal }: BatchResult,
): Promise<void> {
  if (unsent === 0 && failed === 0 && !refusal) return;
  await untilRecorded(delivery.job, async (context) => {
    await release(context, route.candidate, { ...allowance, granted: unsent });
    await giveBackClaim(context, claim.noted, unsent);
    if (failed > 0) await countErrors(context, delivery.campaignId, failed);
    if (refusal) await failRefused(context, delivery, refusal);
  });
}

/**
 * Leaves a provider that takes nothing. The next provider gets the messages that were certainly not sent; without a
 * next one, the delivery stops or pauses.
 */
function judgeProvider<C extends SendingChannel>(
  delivery: Delivery<C>,
  route: Route<C>,
  answered: SendOutcome[],
): { sent: SendOutcome[]; refusal: SendOutcome | undefined } {
  const verdict = verdictOn(answered);
  delivery.routes.note(route, verdict, answered);
  const isDown = verdict === "failing" || verdict === "refused";
  if (verdict === "ok") delivery.down = null;
  if (isDown && delivery.routes.leave(route)) return { sent: handedBack(answered), refusal: undefined };
  pauseIfBusy(delivery, answered, isDown ? DOWN_SECONDS : BUSY_SECONDS);
  if (!isDown) return { sent: answered, refusal: undefined };
  const [trouble] = answered.filter((one) => one.status !== "sent");
  delivery.down = `The ${delivery.channel} provider ${route.candidate.name} takes no messages (${trouble?.code}). It is tried again by itself.`;
  const refusal = answered.find((outcome) => outcome.status === "retry" && outcome.fatal);
  if (refusal) delivery.stopped = true;
  else if (answered.some(({ status }) => status === "unknown")) {
    delivery.stopped = true;
    delivery.resumeIn = REST_SECONDS;
  }
  return { sent: answered, refusal };
}

/** A busy provider stops the delivery until the time that it names. */
function pauseIfBusy<C extends SendingChannel>(
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

/** The provider refuses the sender: no message passes until somebody repairs its settings. */
async function failRefused<C extends SendingChannel>(
  context: Context,
  { campaignId, channel }: Delivery<C>,
  refusal: SendOutcome,
): Promise<void> {
  const { status } = await findCampaign(context, campaignId, { lock: true });
  if (status !== "sending" || refusal.status === "sent") return;
  await fail(context, campaignId, `The ${channel} provider refuses us (${refusal.code}): ${refusal.message}`);
}
