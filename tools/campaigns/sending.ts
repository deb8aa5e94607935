import { z } from "zod";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import { type Fault, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { fingerprintInput } from "#tools/approvals/approval.ts";
import { lockUses } from "#tools/uses/refuse-used.ts";
import {
  approving,
  askAbout,
  CONFIRMED_DEADLINE_MS,
  type Present,
  presentState,
} from "./approval/approve.ts";
import { sendingWords } from "./approval/words.ts";
import {
  type Campaign,
  CampaignView,
  changeStatus,
  checkStatus,
  findCampaign,
  lockTemplates,
  sendingChannel,
  sentNow,
} from "./campaign/campaign.ts";
import { lockPause, refusePaused } from "./campaign/property-pause.ts";
import planCampaign from "./plan-campaign.job.ts";
import { isSendable, Preflight, preflight } from "./preflight/preflight.ts";
import { checkReadiness, notReady } from "./preflight/readiness.ts";

/** The shared parts of operations that send a campaign now, each by these channels. */
export function sendingBy(channels: readonly SendingChannel[]) {
  return {
    scope: "write" as const,
    effect: "contact" as const,
    core: true,
    property: "propertyId" as const,
    confirmedBy: "preflight_campaign",
    heavy: true,
    deadline: CONFIRMED_DEADLINE_MS,
    input: {
      campaignId: z.uuid().describe("From list_campaigns"),
      propertyId: z.uuid(),
      fingerprint: fingerprintInput,
      dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
    },
    output: z.object({
      success: z.literal(true),
      campaign: CampaignView.optional().describe("Not in a dry run"),
      preflight: Preflight.optional().describe("Of a dry run"),
    }),
    faults: ["invalid", "not_found", "conflict"] as const,
    handler: (context: Context, request: Request) => queueCampaign(context, channels, request),
  };
}

interface Request {
  campaignId: string;
  fingerprint?: string | undefined;
  dry_run: boolean;
}

async function queueCampaign(
  context: Context,
  channels: readonly SendingChannel[],
  { campaignId, fingerprint, dry_run }: Request,
) {
  // Before the campaign, as a pause of all sending locks them.
  const pause = dry_run ? null : await lockPause(context, "shared");
  const campaign = sentNow(await findCampaign(context, campaignId, { lock: !dry_run }));
  if (!channels.includes(sendingChannel(campaign))) throw wrongChannel(campaign, channels);
  if (dry_run) {
    const checked = await preflight(context, campaign);
    if (isSendable(checked)) await askToSend(context, campaign, { checked, fingerprint });
    return { success: true as const, preflight: checked };
  }
  checkStatus(campaign, "send");
  refusePaused(pause);
  await lockTemplates(context, campaign);
  await lockUses(context);
  const present = await askToSend(context, campaign, { fingerprint });
  const { problems } = await checkReadiness(context, campaign);
  if (problems.length > 0) throw notReady(problems);
  const times = { finished_at: null, scheduled_at: null, fires_at: null };
  const values = { ...times, ...approving(context, campaign, present) };
  const row = await changeStatus(context, campaignId, "send", values);
  context.enqueue(planCampaign, { campaignId }, { dedupe: campaignId });
  return { success: true as const, campaign: row };
}

async function askToSend(
  context: Context,
  campaign: Campaign,
  { checked, fingerprint }: { checked?: Preflight; fingerprint: string | undefined },
): Promise<Present> {
  const present = await presentState(context, campaign, fingerprint);
  const sentences = async () =>
    sendingWords(context, campaign, checked ?? (await preflight(context, campaign)));
  return askAbout(context, campaign, present, { sentences });
}

const OPERATIONS: Record<SendingChannel, string> = {
  email: "send_campaign",
  inbox: "send_campaign",
  push: "send_campaign",
  sms: "send_sms_campaign",
  voice: "send_campaign",
};

function wrongChannel(campaign: Campaign, channels: readonly SendingChannel[]): Fault {
  const { channel } = campaign;
  const hint = `${OPERATIONS[sendingChannel(campaign)]} sends ${channel}`;
  return invalid("channel", `is ${channel}, and this operation sends ${channels.join(" and ")}; ${hint}`);
}
