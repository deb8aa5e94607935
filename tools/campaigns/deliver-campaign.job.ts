import { z } from "zod";
import type { Keep, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Sender } from "#runtime/channels/index.ts";
import { type Context, type JobContext, job } from "#runtime/operation.ts";
import { keepMessages } from "#tools/mailbox/keep.ts";
import { chooseProvider } from "#tools/providers/choose.ts";
import { sendingChannel } from "./addresses.ts";
import { type Campaign, findCampaign } from "./campaign.ts";
import cancelSends from "./cancel-sends.job.ts";
import { claimSends, type Recipient, recoverSends } from "./claim.ts";
import type { Content } from "./content.ts";
import { renderMessages } from "./message.ts";
import { fail, finishIfDone, orFail } from "./move.ts";
import { notReady, readinessOn } from "./readiness.ts";
import { recordOutcomes } from "./record.ts";
import { unsubscribeLinks } from "./unsubscribe.ts";

// While one batch is on its way to the vendor, another is claimed or recorded.
const LANES = 2;
// From the check to the hand-over; a vendor then has to start within a second of the check.
const READY_WITHIN_MS = 700;

/** Hands the pending sends of a planned campaign to the provider, each at most once. */
const deliverCampaign = job({
  name: "deliver_campaign",
  attempts: 100,
  input: z.object({ campaignId: z.uuid() }),
  handler: (job, { campaignId }) => orFail(job, campaignId, () => deliver(job, campaignId)),
});
export default deliverCampaign;

interface Delivery<C extends SendingChannel> {
  job: JobContext;
  campaignId: string;
  channel: C;
  provider: string;
  sender: Sender<C>;
  /** Compiled from the content's `version`. */
  content: Content<C>;
  version: number;
  linkOf(sendId: string): string;
  /** Set when nothing more may be claimed. */
  stopped: boolean;
}

async function deliver(job: JobContext, campaignId: string): Promise<void> {
  const delivery = await job.transact(async (context) => {
    const campaign = await findCampaign(context, campaignId);
    return prepare(context, job, campaign, sendingChannel(campaign));
  });
  if (delivery) {
    const lanes = await Promise.allSettled(Array.from({ length: LANES }, () => runOrStop(delivery)));
    const broken = lanes.find((lane) => lane.status === "rejected");
    if (broken) throw broken.reason;
  }
  job.signal.throwIfAborted();
  await job.transact((context) => conclude(context, campaignId));
}

/** Settles what an earlier attempt left, and compiles the content; null when the campaign is not sending. */
async function prepare<C extends SendingChannel>(
  context: Context,
  job: JobContext,
  campaign: Campaign,
  channel: C,
): Promise<Delivery<C> | null> {
  const chosen = chooseProvider(job.config, channel);
  const keep: Keep = (messages) => job.transact((inside) => keepMessages(inside, messages));
  const sender = job.runtime.open(channel, chosen, keep);
  await recoverSends(context, job.jobId, { campaignId: campaign.id, repeatable: sender.repeatable });
  if (campaign.status !== "sending") return null;
  const links = unsubscribeLinks(job.config);
  return {
    job,
    campaignId: campaign.id,
    channel,
    provider: chosen.name,
    sender,
    ...(await compile(context, campaign, channel)),
    linkOf: (sendId) => links(job.propertyId!, sendId),
    stopped: false,
  };
}

async function compile<C extends SendingChannel>(context: Context, campaign: Campaign, channel: C) {
  const { content, problems } = await readinessOn(channel, context, campaign);
  if (!content) throw notReady(problems);
  return { content: (await content.outgoing?.(context)) ?? content, version: campaign.version };
}

async function runOrStop<C extends SendingChannel>(delivery: Delivery<C>): Promise<void> {
  try {
    await run(delivery);
  } catch (error) {
    delivery.stopped = true;
    throw error;
  }
}

/** One lane: claim, render, hand over, record, until nothing is due. */
async function run<C extends SendingChannel>(delivery: Delivery<C>): Promise<void> {
  const { job, campaignId, channel, sender } = delivery;
  const most = Math.max(1, Math.floor(sender.concurrency / LANES));
  let limit = most;
  let after: string | null = null;
  while (!delivery.stopped && !job.signal.aborted) {
    const checkedAt = performance.now();
    const { version } = delivery;
    const claim = await job.transact((context) =>
      claimSends(context, job.jobId, { campaignId, channel, version, after, limit }),
    );
    if (claim.status !== "sending") return;
    // The content was edited while the campaign was paused.
    if (claim.version !== version) {
      const compiled = await job.transact(async (context) =>
        compile(context, await findCampaign(context, campaignId), channel),
      );
      Object.assign(delivery, compiled);
      continue;
    }
    if (claim.taken === 0 && after === null) return;
    after = claim.last;
    const late = await handOver(delivery, claim.recipients, checkedAt + READY_WITHIN_MS);
    limit = late ? Math.max(1, Math.floor(limit / 2)) : Math.min(most, limit * 2);
  }
}

/** Answers whether some had to be given back because rendering took too long. */
async function handOver<C extends SendingChannel>(
  delivery: Delivery<C>,
  recipients: Recipient[],
  deadline: number,
): Promise<boolean> {
  if (recipients.length === 0) return false;
  const { job, provider, sender, content, linkOf } = delivery;
  const { messages, refused } = await renderMessages(content, recipients, linkOf, deadline);
  const sent = messages.length > 0 ? await sender.send(messages, { signal: job.signal }) : [];
  const outcomes = [...refused, ...sent];
  const refusal = outcomes.find((outcome) => outcome.status === "retry" && outcome.fatal);
  if (refusal) delivery.stopped = true;
  await job.transact(async (context) => {
    await recordOutcomes(context, job.jobId, { provider, outcomes, messages });
    if (refusal) await failRefused(context, delivery, refusal);
  });
  return refused.some((outcome) => outcome.status === "retry");
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

/** Nothing is due: the campaign is done, or goes on when the next try is. */
async function conclude(context: Context, campaignId: string): Promise<void> {
  const { sql, property, enqueue } = context;
  const { status } = await findCampaign(context, campaignId, { lock: true });
  if (status === "cancelled") enqueue(cancelSends, { campaignId }, { dedupe: campaignId });
  if (status !== "sending" || (await finishIfDone(context, campaignId))) return;
  const [next] = await sql<{ wait: number | null }[]>`
    select greatest(0, extract(epoch from min(coalesce(scheduled_for, now())) - now()))::double precision as wait
    from campaign_sends
    where property_id = ${property.id} and campaign_id = ${campaignId} and status in ('pending', 'deferred')`;
  // What another job has in its hands, that job will conclude.
  if (next?.wait === null || next?.wait === undefined) return;
  enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId, runAt: next.wait });
}
