import { z } from "zod";
import { insert } from "#runtime/crud.ts";
import { tool } from "#runtime/operation.ts";
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
    const { sql, property } = context;
    const found = await findCampaign(context, campaignId);
    const [more] = await sql<{ is_transactional: boolean; tags: string[] }[]>`
      select is_transactional, tags from campaigns where property_id = ${property.id} and id = ${campaignId}`;
    const { id: _id, status: _status, scheduled_at: _at, plan_cursor: _cursor, ...rest } = found;
    const { planned_at: _planned, version: _version, ...content } = rest;
    const copy = { ...content, ...more, name: name ?? `${found.name.slice(0, 190)} (copy)` };
    const campaign = await insert(context, campaigns, copy);
    context.emit("campaign.created", thin(campaign));
    context.audit({ entity: "campaigns", entityId: campaign.id });
    return { success: true as const, campaign };
  },
});
