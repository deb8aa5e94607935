import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { CampaignView } from "./campaigns.table.ts";
import cancelSends from "./cancel-sends.job.ts";
import { lockFor, move } from "./move.ts";

export default tool({
  name: "cancel_campaign",
  title: "Cancel a campaign",
  description:
    "Ends a campaign that is scheduled, queued, sending or paused. What has been sent stays sent; the rest never will be.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
  },
  output: z.object({ success: z.literal(true), campaign: CampaignView }),
  faults: ["not_found", "conflict"],
  async handler(context, { campaignId }) {
    await lockFor(context, campaignId, "cancel");
    const campaign = await move(context, campaignId, "cancel", { finished_at: "now" });
    context.enqueue(cancelSends, { campaignId }, { dedupe: campaignId });
    return { success: true as const, campaign };
  },
});
