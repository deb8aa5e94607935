import { z } from "zod";
import { copied } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { insert } from "#runtime/operation/rows.ts";
import { CampaignView, eventFields, findCampaign } from "./campaign/campaign.ts";
import { columns } from "./campaign/columns.ts";
import campaigns from "./campaigns.table.ts";

export default tool({
  name: "duplicate_campaign",
  title: "Duplicate a campaign",
  description: "Creates a draft with the content and the audience of another campaign in any status.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
    name: z.string().trim().min(1).max(200).optional().describe("Default: the old name with (copy)"),
  },
  output: z.object({ success: z.literal(true), campaign: CampaignView }),
  faults: ["invalid", "not_found"],
  async handler(context, { campaignId, name }) {
    const found = await findCampaign(context, campaignId);
    const copy = { ...copied(columns, found), name: name ?? `${found.name.slice(0, 190)} (copy)` };
    const campaign = await insert(context, campaigns, copy);
    context.emit("campaign.created", eventFields(campaign));
    context.audit({ entity: "campaigns", entityId: campaign.id });
    return { success: true as const, campaign };
  },
});
