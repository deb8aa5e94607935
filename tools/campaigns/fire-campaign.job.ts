import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { job } from "#runtime/operation.ts";
import { findCampaign } from "./campaign.ts";
import { holdTemplates } from "./content.ts";
import { fail, move } from "./move.ts";
import { obstacles } from "./obstacles.ts";
import planCampaign from "./plan-campaign.job.ts";

/** Starts a campaign that is due. One that was moved to another time has another job for it. */
export default job({
  name: "fire_campaign",
  attempts: 100,
  input: z.object({ campaignId: z.uuid() }),
  handler: ({ transact }, { campaignId }) => transact((context) => fire(context, campaignId)),
});

async function fire(context: Context, campaignId: string): Promise<void> {
  const { sql, property, enqueue } = context;
  const [due] = await sql`
    select 1 from campaigns
    where property_id = ${property.id} and id = ${campaignId} and deleted_at is null
      and status = 'scheduled' and coalesce(fires_at, scheduled_at) <= clock_timestamp()
    for no key update`;
  if (!due) return;
  const campaign = await findCampaign(context, campaignId);
  await holdTemplates(context, campaign);
  const { problems } = await obstacles(context, campaign);
  if (problems.length > 0) {
    await fail(context, campaignId, problems.map(({ field, message }) => `${field}: ${message}`).join("; "));
    return;
  }
  await move(context, campaignId, "send");
  enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
}
