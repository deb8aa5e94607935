import { z } from "zod";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { update } from "#runtime/operation/rows.ts";
import { holdSendingIfChanged } from "#tools/campaigns/approval/approve.ts";
import { type Campaign, findCampaign, orFail, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import campaigns from "#tools/campaigns/campaigns.table.ts";
import cancelSends from "#tools/campaigns/cancel-sends.job.ts";
import { stepSoon } from "#tools/enrollments/jobs.ts";
import { type Delivery, openDelivery } from "./delivery.ts";
import { secondsToNextClaim } from "./due-sends.ts";
import { finishIfDone } from "./finish.ts";
import { runShift } from "./shift.ts";

// The time after which a campaign that gives way tries again.
const GIVE_WAY_SECONDS = 2;
// A shift takes ten seconds: the lower campaign gets at least one shift of four.
const MOST_GIVEN_WAY = 15;

type Input = z.output<typeof Input>;
const Input = z.object({
  campaignId: z.uuid(),
  /** The last send of the shift before. */
  after: z.uuid().optional(),
  /** The number of times that it has given way to a higher priority since its last shift. */
  gaveWay: z.int().optional(),
});

/** Hands the pending sends of a planned campaign to the provider, each at most once, one shift at a time. */
const deliverCampaign = job({
  name: "deliver_campaign",
  attempts: 100,
  sends: true,
  input: Input,
  handler: (job, input) => orFail(job, input.campaignId, () => deliver(job, input)),
});
export default deliverCampaign;

async function deliver(job: JobContext, input: Input): Promise<void> {
  const delivery = await job.transact(async (context) => {
    const campaign = await findCampaign(context, input.campaignId);
    const gaveWay = input.gaveWay ?? 0;
    if (gaveWay < MOST_GIVEN_WAY && (await givesWay(context, campaign))) {
      const again = { ...input, gaveWay: gaveWay + 1 };
      context.enqueue(deliverCampaign, again, { dedupe: campaign.id, runAt: GIVE_WAY_SECONDS });
      return "later";
    }
    const opened = await openDelivery(context, job, campaign, sendingChannel(campaign), input.after ?? null);
    // Behind the compilation: a change that it has read is seen here too.
    return opened && !(await holdSendingIfChanged(context, campaign)) ? opened : null;
  });
  if (delivery === "later") return;
  if (delivery) await runShift(delivery);
  job.signal.throwIfAborted();
  await job.transact((context) => conclude(context, input, delivery));
}

/**
 * Whether a campaign leaves this shift to one of a higher priority. That campaign uses the same channel and has
 * something to send now: its delivery does not wait for a later time. It claims first, so frequency caps prefer it.
 */
async function givesWay(
  { sql, property }: Tenant,
  { id, channel, priority, status }: Campaign,
): Promise<boolean> {
  if (status !== "sending") return false;
  const higher = await sql<{ id: string }[]>`
    select c.id from campaigns c
    where c.property_id = ${property.id} and c.id <> ${id} and c.status = 'sending' and c.priority > ${priority}
      and c.channel = ${channel} and c.planned_at is not null and c.deleted_at is null`;
  if (higher.length === 0) return false;
  // Apart from the campaigns: the queue is a local table.
  const waiting = await sql<{ id: string }[]>`
    select q.dedupe as id from queue q
    where q.name = ${deliverCampaign.name} and q.dedupe = any(${higher.map((one) => one.id)}::text[])
      and q.state = 'ready' and q.run_at > now()`;
  return higher.some((one) => waiting.every((job) => job.id !== one.id));
}

/** Ends a shift: the campaign is done, or its next shift begins when the next send is due. */
async function conclude(
  context: Context,
  { campaignId, after }: Input,
  delivery: Pick<Delivery<SendingChannel>, "reached" | "resumeIn" | "down"> | null,
): Promise<void> {
  const { enqueue } = context;
  const campaign = await findCampaign(context, campaignId, { lock: true });
  const { status } = campaign;
  const resumeIn = delivery?.resumeIn ?? 0;
  if (status === "cancelled") enqueue(cancelSends, { campaignId }, { dedupe: campaignId });
  if (status !== "sending") return;
  if (delivery?.down !== undefined && delivery.down !== campaign.status_reason) {
    await update(context, campaigns, campaignId, { status_reason: delivery.down });
  }
  if (after || delivery?.reached) {
    const next = delivery?.reached ? { campaignId, after: delivery.reached } : { campaignId };
    if (campaign.journey_id) stepSoon(context, campaign.journey_id);
    return enqueue(deliverCampaign, next, { dedupe: campaignId, runAt: resumeIn });
  }
  if (campaign.journey_id) stepSoon(context, campaign.journey_id);
  else if (await finishIfDone(context, campaignId)) return;
  const wait = await secondsToNextClaim(context, campaign);
  // Sends that another job has claimed are that job's to conclude.
  if (wait === null) return;
  enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId, runAt: Math.max(wait, resumeIn) });
}
