import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { holdIfChanged } from "./approval/approve.ts";
import { changeStatus, fail, findCampaign, lockTemplates } from "./campaign/campaign.ts";
import { lockPause } from "./campaign/property-pause.ts";
import planCampaign from "./plan-campaign.job.ts";
import { checkReadiness } from "./preflight/readiness.ts";

/** Starts a campaign that is due. A campaign with a new time has a new job for it. */
export default job({
  name: "fire_campaign",
  attempts: 100,
  input: z.object({ campaignId: z.uuid() }),
  handler: ({ transact }, { campaignId }) => transact((context) => fire(context, campaignId)),
});

async function fire(context: Context, campaignId: string): Promise<void> {
  const { sql, property, enqueue } = context;
  // resume_all_sending starts those whose time has come.
  if (await lockPause(context, "shared")) return;
  const [due] = await sql`
    select 1 from campaigns
    where property_id = ${property.id} and id = ${campaignId} and deleted_at is null
      and status = 'scheduled' and coalesce(fires_at, scheduled_at) <= clock_timestamp()
    for no key update`;
  if (!due) return;
  const campaign = await findCampaign(context, campaignId);
  await lockTemplates(context, campaign);
  const { problems } = await checkReadiness(context, campaign);
  if (problems.length > 0) {
    await fail(context, campaignId, problems.map(({ field, message }) => `${field}: ${message}`).join("; "));
    return;
  }
  if (await holdIfChanged(context, campaign)) return;
  await changeStatus(context, campaignId, "send");
  enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
}
