import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { CampaignView } from "./campaigns.table.ts";
import { lockFor, move } from "./move.ts";

export default tool({
  name: "pause_campaign",
  title: "Pause a campaign",
  description:
    "Stops a campaign that is sending. Messages already handed to the provider are not called back.",
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
    await lockFor(context, campaignId, "pause");
    const campaign = await move(context, campaignId, "pause");
    return { success: true as const, campaign };
  },
});
