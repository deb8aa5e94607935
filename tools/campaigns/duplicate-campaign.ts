import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { insert } from "#runtime/rows.ts";
import { findCampaign, thin } from "./campaign.ts";
import campaigns, { CampaignView } from "./campaigns.table.ts";

export default tool({
  name: "duplicate_campaign",
  title: "Duplicate a campaign",
  description: "Makes a draft with the content and the audience of another campaign, whatever its state.",
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
    const { id: _id, status: _status, scheduled_at: _at, fires_at: _fires, ...rest } = found;
    const { plan_cursor: _cursor, planned_at: _planned, version: _version, ...plain } = rest;
    const { ab_ends_at: _ends, ab_result: _result, ...content } = plain;
    const copy = { ...content, name: name ?? `${found.name.slice(0, 190)} (copy)` };
    const campaign = await insert(context, campaigns, copy);
    context.emit("campaign.created", thin(campaign));
    context.audit({ entity: "campaigns", entityId: campaign.id });
    return { success: true as const, campaign };
  },
});
