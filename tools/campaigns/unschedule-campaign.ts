import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { CampaignView } from "./campaigns.table.ts";
import { lockFor, move } from "./move.ts";

export default tool({
  name: "unschedule_campaign",
  title: "Unschedule a campaign",
  description: "Takes a scheduled campaign back to draft.",
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
    await lockFor(context, campaignId, "unschedule");
    const campaign = await move(context, campaignId, "unschedule", { scheduled_at: null });
    return { success: true as const, campaign };
  },
});
