import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { Keep, SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import { type Context, type JobContext, job } from "#runtime/operation.ts";
import { takeOverOptOuts } from "#tools/consent/vendor-opt-outs.ts";
import { keepMessages } from "#tools/mailbox/keep.ts";
import { type Candidate, chooseProviders } from "#tools/providers/choose.ts";
import { type Allowance, release, reserve } from "#tools/providers/limits.ts";
import { handedBack, openRoutes, type Route, type Routes, verdictOn } from "#tools/providers/routes.ts";
import { sendingChannel } from "./addresses.ts";
import { type Campaign, findCampaign } from "./campaign.ts";
import cancelSends from "./cancel-sends.job.ts";
import {
  type Claim,
  claimSends,
  EXPIRES_AFTER_HOURS,
  type Recipient,
  type Rules,
  recoverSends,
} from "./claim.ts";
import type { Content } from "./content.ts";
import { renderMessages } from "./message.ts";
import { fail, finishIfDone, orFail } from "./move.ts";
import { secondsToRoom } from "./pace.ts";
import { notReady, readinessOn } from "./readiness.ts";
import { BUSY_SECONDS, recordOutcomes } from "./record.ts";
import { unsubscribeLinks } from "./unsubscribe.ts";

// While one batch is on its way to the vendor, another is claimed or recorded.
const LANES = 2;
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
  routes: Routes<C>;
  /** Compiled from the `campaign` as it was read. */
  content: Content<C>;
  campaign: Campaign;
  /** What bears on the campaign, as far as a claim has told. */
  rules: Rules;
  linkOf(sendId: string): string;
  /** Set when nothing more may be claimed. */
  stopped: boolean;
  /** In how many seconds a provider may be given more; null when nothing holds the campaign up. */
  resumeIn: number | null;
}

async function deliver(job: JobContext, campaignId: string): Promise<void> {
  const delivery = await job.transact(async (context) => {
    const campaign = await findCampaign(context, campaignId);
    return prepare(context, job, campaign, sendingChannel(campaign));
  });
  if (delivery) {
    const lanes = await Promise.allSettled(Array.from({ length: LANES }, () => runOrStop(delivery)));
    await delivery.routes.noted();
    const broken = lanes.find((lane) => lane.status === "rejected");
    if (broken) throw broken.reason;
  }
  job.signal.throwIfAborted();
  await job.transact((context) => conclude(context, campaignId, delivery?.resumeIn ?? null));
}

/** Settles what an earlier attempt left, and compiles the content; null when the campaign is not sending. */
async function prepare<C extends SendingChannel>(
  context: Context,
  job: JobContext,
  campaign: Campaign,
  channel: C,
): Promise<Delivery<C> | null> {
  const keep: Keep = (messages) => job.transact((inside) => keepMessages(inside, messages));
  const candidates = await chooseProviders(context, channel, campaign.provider_id);
  const routes = openRoutes(job, channel, candidates, keep);
  // Where another may take over, nothing is repeated: what the first one may have, the other would send again.
  const [first, other] = routes.all;
  const repeatable = first?.sender.repeatable && !other ? first.candidate : null;
  await recoverSends(context, job.jobId, { campaignId: campaign.id, repeatable });
  if (campaign.status !== "sending") return null;
  const { content, problems } = await readinessOn(channel, context, campaign);
  if (!content) throw notReady(problems);
  const links = unsubscribeLinks(job.config);
  return {
    job,
    campaignId: campaign.id,
    channel,
    routes,
    content: (await content.outgoing?.(context)) ?? content,
    campaign,
    rules: { hours: false, caps: false },
    linkOf: (sendId) => links(job.propertyId!, sendId),
    stopped: false,
    resumeIn: null,
  };
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
  const { job, routes } = delivery;
  let limit = Number.POSITIVE_INFINITY;
  let after: string | null = null;
  while (!delivery.stopped && !job.signal.aborted) {
    const checkedAt = performance.now();
    const route = routes.current();
    limit = Math.min(limit, Math.max(1, Math.floor(route.sender.concurrency / LANES)));
    const { claim, allowance } = await job.transact((context) =>
      claimWithin(context, delivery, route.candidate, after, limit),
    );
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
    if (claim.taken === 0 && after === null) return;
    after = claim.last;
    const late = await handOver(delivery, route, claim.recipients, checkedAt);
    limit = late ? Math.max(1, Math.floor(limit / 2)) : limit * 2;
  }
}

/** Whether a claim was asked for under all the rules that there are. */
function claimedUnder(asked: Rules, found: Rules): boolean {
  return (asked.hours || !found.hours) && (asked.caps || !found.caps);
}

/** Claims no more than the provider may be given now; no claim at all when that is nothing. */
async function claimWithin<C extends SendingChannel>(
  context: Context,
  { job, campaign, channel, rules }: Delivery<C>,
  provider: Candidate,
  after: string | null,
  most: number,
): Promise<{ claim: Claim | null; allowance: Allowance }> {
  const allowance = await reserve(context, provider, most);
  const { granted: limit } = allowance;
  if (limit === 0) return { claim: null, allowance };
  const wanted = { campaign, channel, provider, rules, after, limit };
  const claim = await claimSends(context, job.jobId, wanted);
  await release(context, provider, limit - claim.recipients.length);
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

/** Answers whether some had to be given back because they would have started too long after their check. */
async function handOver<C extends SendingChannel>(
  delivery: Delivery<C>,
  route: Route<C>,
  recipients: Recipient[],
  checkedAt: number,
): Promise<boolean> {
  if (recipients.length === 0) return false;
  const { job, content, linkOf } = delivery;
  const { candidate, sender } = route;
  const readyBy = checkedAt + READY_WITHIN_MS;
  const { messages, refused } = await renderMessages(content, recipients, linkOf, readyBy);
  const signed = messages.map((message) => content.sentBy(candidate, message));
  const answered =
    signed.length > 0
      ? await sender.send(signed, { signal: job.signal, startBy: checkedAt + STARTED_WITHIN_MS })
      : [];
  const { sent, refusal } = judged(delivery, route, answered);
  const outcomes = [...refused, ...sent];
  await job.transact(async (context) => {
    await recordOutcomes(context, job.jobId, { outcomes, messages });
    await takeOverOptOuts(context, delivery.channel, answered);
    if (refusal) await failRefused(context, delivery, refusal);
  });
  return outcomes.some((outcome) => outcome.status === "retry" && TOO_LATE.includes(outcome.code));
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

/** Nothing is due: the campaign is done, or goes on when the next try is. */
async function conclude(context: Context, campaignId: string, resumeIn: number | null): Promise<void> {
  const { sql, property, enqueue } = context;
  const campaign = await findCampaign(context, campaignId, { lock: true });
  const { status, throttle_per_minute: throttle } = campaign;
  if (status === "cancelled") enqueue(cancelSends, { campaignId }, { dedupe: campaignId });
  if (status !== "sending" || (await finishIfDone(context, campaignId))) return;
  // What waits for longer than a campaign may take is due when it expires.
  const [next] = await sql<{ wait: number | null }[]>`
    select greatest(0, extract(epoch from least(min(coalesce(s.scheduled_for, now())),
        min(c.started_at) + make_interval(hours => ${EXPIRES_AFTER_HOURS})) - now()))::double precision as wait
    from campaign_sends s join campaigns c on c.property_id = ${property.id} and c.id = s.campaign_id
    where s.property_id = ${property.id} and s.campaign_id = ${campaignId} and s.status in ('pending', 'deferred')`;
  // What another job has in its hands, that job will conclude.
  if (next?.wait === null || next?.wait === undefined) return;
  const room = throttle === null ? 0 : await secondsToRoom(context, { campaignId, throttle });
  const runAt = Math.max(next.wait, room, resumeIn ?? 0);
  enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId, runAt });
}
