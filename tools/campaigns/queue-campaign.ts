import { z } from "zod";
import type { SendingChannel } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import { invalid } from "#runtime/faults.ts";
import { sendingChannelOf } from "./addresses.ts";
import { type Campaign, findCampaign } from "./campaign.ts";
import { CampaignView } from "./campaigns.table.ts";
import { checkConfirmed, stateOf } from "./confirming.ts";
import { holdTemplates } from "./content.ts";
import { checkState, move } from "./move.ts";
import { obstacles } from "./obstacles.ts";
import planCampaign from "./plan-campaign.job.ts";
import { isSendable, Preflight, preflight } from "./preflight.ts";
import { notReady } from "./readiness.ts";

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

/** Queues a campaign of one of these channels, or only checks it. */
export async function queueCampaign(
  context: Context,
  channels: readonly SendingChannel[],
  { campaignId, dry_run }: { campaignId: string; dry_run: boolean },
) {
  const campaign = await findCampaign(context, campaignId, { lock: !dry_run });
  const channel = sendingChannelOf(campaign.channel);
  if (!channel || !channels.includes(channel)) throw wrongChannel(campaign.channel, channels);
  if (dry_run) {
    const checked = await preflight(context, campaign);
    if (isSendable(checked)) context.bind?.(await stateOf(context, campaign));
    return { success: true as const, preflight: checked };
  }
  checkState(campaign, "send");
  await holdTemplates(context, campaign);
  await checkConfirmed(context, () => stateOf(context, campaign));
  const { problems } = await obstacles(context, campaign);
  if (problems.length > 0) throw notReady(problems);
  const row = await move(context, campaignId, "send", { finished_at: null, fires_at: null });
  context.enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
  return { success: true as const, campaign: row };
}

const OPERATIONS: Record<SendingChannel, string> = {
  email: "send_campaign",
  inbox: "send_campaign",
  sms: "send_sms_campaign",
};

function wrongChannel(channel: Campaign["channel"], wanted: readonly SendingChannel[]) {
  const sending = sendingChannelOf(channel);
  const hint = sending ? `; ${OPERATIONS[sending]} sends ${channel}` : "";
  return invalid("channel", `is ${channel}, and this operation sends ${wanted.join(" and ")}${hint}`);
}
