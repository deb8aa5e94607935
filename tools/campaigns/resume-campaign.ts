import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import {
  approving,
  askAbout,
  CONFIRMED_DEADLINE_MS,
  countPending,
  presentState,
} from "./approval/approve.ts";
import { resumingWords } from "./approval/words.ts";
import { type Campaign, CampaignView, changeStatus, lockFor } from "./campaign/campaign.ts";
import { lockPause, refusePaused } from "./campaign/property-pause.ts";
import planCampaign from "./plan-campaign.job.ts";
import { Cost, estimatedCost, volumeOf } from "./preflight/cost.ts";
import { checkReadiness } from "./preflight/readiness.ts";

export default tool({
  name: "resume_campaign",
  title: "Resume a campaign",
  description: "Continues a paused campaign where it stopped; every recipient is checked again.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  deadline: CONFIRMED_DEADLINE_MS,
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
    dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
  },
  output: z.object({
    success: z.literal(true),
    campaign: CampaignView,
    remaining: z.int().optional().describe("Of a dry run: messages that wait, each to be checked again"),
    estimated_cost: Cost.nullable().optional().describe("Of a dry run: if all of these go out"),
  }),
  faults: ["not_found", "conflict"],
  async handler(context, { campaignId, dry_run }) {
    const pause = await lockPause(context, "shared");
    const paused = await lockFor(context, campaignId, "resume");
    refusePaused(pause);
    const ahead = dry_run ? await outlook(context, paused) : undefined;
    const present = askAbout(context, paused, await presentState(context, paused), {
      sentences: async () => resumingWords(context, paused, ahead ?? (await outlook(context, paused))),
    });
    const approved = approving(context, paused, present);
    const campaign = await changeStatus(context, campaignId, "resume", approved);
    context.enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
    return { success: true as const, campaign, ...ahead };
  },
});

/** The messages and the cost that resuming would cause, by the planned sends. */
async function outlook(context: Context, campaign: Campaign) {
  const remaining = await countPending(context, campaign.id);
  const { rendered } = await checkReadiness(context, campaign);
  const { cost } = await estimatedCost(context, campaign, volumeOf(rendered, remaining));
  return { remaining, estimated_cost: cost };
}
