import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { CampaignView } from "./campaigns.table.ts";
import { lockFor, move } from "./move.ts";
import planCampaign from "./plan-campaign.job.ts";

export default tool({
  name: "resume_campaign",
  title: "Resume a campaign",
  description: "Goes on with a paused campaign where it stopped; every recipient is checked again.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
  },
  output: z.object({ success: z.literal(true), campaign: CampaignView }),
  faults: ["not_found", "conflict"],
  async handler(context, { campaignId }) {
    await lockFor(context, campaignId, "resume");
    const campaign = await move(context, campaignId, "resume");
    context.enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
    return { success: true as const, campaign };
  },
});
