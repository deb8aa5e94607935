import { z } from "zod";
import type { SendingChannel } from "#runtime/channels/channel.ts";
import { invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation.ts";
import { findCampaign } from "./campaign.ts";
import { CampaignView } from "./campaigns.table.ts";
import { checkState, move } from "./move.ts";
import planCampaign from "./plan-campaign.job.ts";
import { Preflight, preflight } from "./preflight.ts";
import { notReady, readinessOn } from "./readiness.ts";

/** What operations that send a campaign now take and answer. */
export const input = {
  campaignId: z.uuid().describe("From list_campaigns"),
  propertyId: z.uuid(),
  dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
};
export const output = z.object({
  success: z.literal(true),
  campaign: CampaignView.optional().describe("Not in a dry run"),
  preflight: Preflight.optional().describe("Of a dry run"),
});

/** Queues a campaign of this channel, or only checks it. */
export async function queueCampaign<C extends SendingChannel>(
  context: Context,
  channel: C,
  { campaignId, dry_run }: { campaignId: string; dry_run: boolean },
) {
  const campaign = await findCampaign(context, campaignId, { lock: !dry_run });
  if (campaign.channel !== channel) throw wrongChannel(campaign.channel, channel);
  if (dry_run) return { success: true as const, preflight: await preflight(context, campaign) };
  checkState(campaign, "send");
  const { problems } = await readinessOn(channel, context, campaign);
  if (problems.length > 0) throw notReady(problems);
  const row = await move(context, campaignId, "send", { finished_at: null });
  context.enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
  return { success: true as const, campaign: row };
}

const OPERATIONS: Record<SendingChannel, string> = { email: "send_campaign", sms: "send_sms_campaign" };

function wrongChannel(channel: string, wanted: SendingChannel) {
  const other = Object.entries(OPERATIONS).find(([name]) => name === channel);
  const hint = other ? `; ${other[1]} sends ${channel}` : "";
  return invalid("channel", `is ${channel}, and this operation sends ${wanted}${hint}`);
}
