import { z } from "zod";
import type { Context } from "#runtime/context.ts";
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
    dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
  },
  output: z.object({
    success: z.literal(true),
    campaign: CampaignView,
    remaining: z.int().optional().describe("Of a dry run: messages that wait, each to be checked again"),
  }),
  faults: ["not_found", "conflict"],
  async handler(context, { campaignId, dry_run }) {
    await lockFor(context, campaignId, "resume");
    const campaign = await move(context, campaignId, "resume");
    context.enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
    if (dry_run) return { success: true as const, campaign, remaining: await waiting(context, campaignId) };
    return { success: true as const, campaign };
  },
});

async function waiting({ sql, property }: Context, campaignId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from campaign_sends
    where property_id = ${property.id} and campaign_id = ${campaignId} and status in ('pending', 'deferred')`;
  return row!.count;
}
