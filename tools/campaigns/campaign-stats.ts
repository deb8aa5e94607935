import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { findCampaign, STATUSES } from "./campaign.ts";
import { CampaignStats, countSends } from "./stats.ts";

export default tool({
  name: "campaign_stats",
  title: "Count what became of a campaign",
  description:
    "Counts a campaign's recipients by what became of them. audience = skipped (sum) + pending + sent + delivered + bounced + failed + unknown + cancelled.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { campaignId: z.uuid().describe("From list_campaigns"), propertyId: z.uuid() },
  output: CampaignStats.extend({ campaign_id: z.uuid(), status: z.enum(STATUSES) }),
  faults: ["not_found"],
  async handler(context, { campaignId }) {
    const campaign = await findCampaign(context, campaignId);
    const stats = await countSends(context, campaign);
    return { campaign_id: campaign.id, status: campaign.status, ...stats };
  },
});
