import { z } from "zod";
import type { Keep, SendingChannel } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import { type JobContext, job } from "#runtime/operation.ts";
import { chooseProviders } from "#tools/providers/choose.ts";
import { openRoutes } from "#tools/providers/routes.ts";
import { sendingChannel } from "./addresses.ts";
import { type Campaign, findCampaign } from "./campaign.ts";
import cancelSends from "./cancel-sends.job.ts";
import { EXPIRES_AFTER_HOURS, recoverSends } from "./claim.ts";
import { ASK_AGAIN, givesWay } from "./give-way.ts";
import { type Delivery, runLanes } from "./lanes.ts";
import { finishIfDone, orFail } from "./move.ts";
import { secondsToRoom } from "./pace.ts";
import { notReady, readinessOn } from "./readiness.ts";
import { unsubscribeLinks } from "./unsubscribe.ts";

// A choice takes no longer, unless the campaign is large; it hands over by itself.
const CHOICE_SECONDS = 10;

type Input = z.output<typeof Input>;
const Input = z.object({
  campaignId: z.uuid(),
  /** Where the shift before has ended. */
  after: z.uuid().optional(),
  /** How many times it has given way to a campaign of a higher priority since its last shift. */
  gaveWay: z.int().optional(),
});

/** Hands the pending sends of a planned campaign to the provider, each at most once, one shift at a time. */
const deliverCampaign = job({
  name: "deliver_campaign",
  attempts: 100,
  input: Input,
  handler: (job, input) => orFail(job, input.campaignId, () => deliver(job, input)),
});
export default deliverCampaign;

async function deliver(job: JobContext, input: Input): Promise<void> {
  const delivery = await job.transact(async (context) => {
    const campaign = await findCampaign(context, input.campaignId);
    const gaveWay = input.gaveWay ?? 0;
    if (await givesWay(context, campaign, { job: deliverCampaign.name, times: gaveWay })) {
      const again = { ...input, gaveWay: gaveWay + 1 };
      context.enqueue(deliverCampaign, again, { dedupe: campaign.id, runAt: ASK_AGAIN });
      return "later";
    }
    return prepare(context, job, { campaign, channel: sendingChannel(campaign), input });
  });
  if (delivery === "later") return;
  if (delivery) await runLanes(delivery);
  job.signal.throwIfAborted();
  await job.transact((context) => conclude(context, input, delivery));
}

interface Prepared<C extends SendingChannel> {
  campaign: Campaign;
  channel: C;
  input: Input;
}

/** Settles what an earlier attempt left, and compiles the content; null when the campaign is not sending. */
async function prepare<C extends SendingChannel>(
  context: Context,
  job: JobContext,
  { campaign, channel, input }: Prepared<C>,
): Promise<Delivery<C> | null> {
  const kept: Delivery<C>["kept"] = new Map();
  const keep: Keep = async (messages) => {
    for (const one of messages) kept.set(one.message.id, one);
  };
  const candidates = await chooseProviders(context, channel, campaign.provider_id);
  const routes = openRoutes(job, channel, candidates, keep);
  // Where another may take over, nothing is repeated: what the first one may have, the other would send again.
  const [first, other] = routes.all;
  const repeatable = first?.sender.repeatable && !other ? first.candidate : null;
  // A shift that goes on looks at no send before those that it sends; the last one looks at all.
  if (!input.after) await recoverSends(context, job.jobId, { campaignId: campaign.id, repeatable });
  if (campaign.status !== "sending") return null;
  const { content, problems } = await readinessOn(channel, context, campaign);
  if (!content) throw notReady(problems);
  const links = unsubscribeLinks(job.config);
  return {
    job,
    campaignId: campaign.id,
    channel,
    routes,
    kept,
    content: (await content.outgoing?.(context)) ?? content,
    campaign,
    rules: { hours: false, caps: false },
    linkOf: (sendId) => links(job.propertyId!, sendId),
    repeatable: repeatable !== null,
    after: input.after ?? null,
    isBehind: false,
    stopped: false,
    resumeIn: null,
    silent: 0,
    left: [],
    reached: undefined,
  };
}

/** The shift is over, or nothing is due: the campaign is done, or goes on when the next try is. */
async function conclude(
  context: Context,
  { campaignId, after }: Input,
  delivery: Pick<Delivery<SendingChannel>, "reached" | "resumeIn"> | null,
): Promise<void> {
  const { sql, property, enqueue } = context;
  const campaign = await findCampaign(context, campaignId, { lock: true });
  const { status, throttle_per_minute: throttle } = campaign;
  const resumeIn = delivery?.resumeIn ?? 0;
  if (status === "cancelled") enqueue(cancelSends, { campaignId }, { dedupe: campaignId });
  if (status !== "sending") return;
  if (after || delivery?.reached) {
    const next = delivery?.reached ? { campaignId, after: delivery.reached } : { campaignId };
    return enqueue(deliverCampaign, next, { dedupe: campaignId, runAt: resumeIn });
  }
  if (await finishIfDone(context, campaignId)) return;
  // What waits for a winner is looked for when it should be chosen, and a while later each time when it is not.
  // What waits for longer than a campaign may take is due when it expires.
  const due = sql`case when c.ab_test is null or s.variant_id is not null
      then least(coalesce(s.scheduled_for, now()),
        greatest(c.started_at, c.expires_from) + make_interval(hours => ${EXPIRES_AFTER_HOURS}))
    else greatest(c.ab_ends_at, now() + make_interval(secs => ${CHOICE_SECONDS})) end`;
  const [next] = await sql<{ wait: number | null }[]>`
    select greatest(0, extract(epoch from min(${due}) - now()))::double precision as wait
    from campaign_sends s join campaigns c on c.property_id = ${property.id} and c.id = s.campaign_id
    where s.property_id = ${property.id} and s.campaign_id = ${campaignId} and s.status in ('pending', 'deferred')`;
  // What another job has in its hands, that job will conclude.
  if (next?.wait === null || next?.wait === undefined) return;
  const room = throttle === null ? 0 : await secondsToRoom(context, { campaignId, throttle });
  const runAt = Math.max(next.wait, room, resumeIn);
  enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId, runAt });
}
