import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { findCampaign } from "./campaign.ts";
import { CampaignView } from "./campaigns.table.ts";
import { notReady, readiness } from "./content.ts";
import { lockFor, move } from "./move.ts";
import planCampaign from "./plan-campaign.job.ts";
import { Preflight, preflight } from "./preflight.ts";

export default tool({
  name: "send_campaign",
  title: "Send a campaign now",
  description:
    "Queues an email campaign to its audience. Every recipient passes the compliance gate (suppression, do-not-call, consent, self-exclusion); the blocked are skipped, with the reason. A failed campaign goes on where it stopped: nobody gets it twice. dry_run changes nothing and answers the preflight.",
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
    campaign: CampaignView.optional().describe("Not in a dry run"),
    preflight: Preflight.optional().describe("Of a dry run"),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { campaignId, dry_run }) {
    if (dry_run) {
      const found = await findCampaign(context, campaignId);
      return { success: true as const, preflight: await preflight(context, found) };
    }
    const campaign = await lockFor(context, campaignId, "send");
    const { problems } = await readiness(context, campaign);
    if (problems.length > 0) throw notReady(problems);
    const row = await move(context, campaignId, "send", { finished_at: null });
    context.enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
    return { success: true as const, campaign: row };
  },
});
