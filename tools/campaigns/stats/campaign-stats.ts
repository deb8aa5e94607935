import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { CAMPAIGN_STATUSES } from "#tools/statuses/campaigns.ts";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import { CampaignStats } from "./answer.ts";
import { countSends, keptStats } from "./stats.ts";

export default tool({
  name: "campaign_stats",
  title: "Count a campaign's recipients",
  description:
    "Counts a campaign's recipients by the state of their message. audience = skipped (sum) + pending + sent + delivered + bounced + failed + unknown + cancelled.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
    from: timestamp()
      .optional()
      .describe("Only messages handed over at or after this time, with all their later events"),
    to: timestamp().optional().describe("Only messages handed over before this time"),
  },
  output: CampaignStats.extend({
    campaign_id: z.uuid(),
    channel: z.enum(MESSAGE_CHANNELS).describe("Opens and clicks are not counted for sms and voice"),
    status: z.enum(CAMPAIGN_STATUSES),
    as_of: timestamp().describe(
      "Time of the count: a large campaign is counted a few times a minute at most",
    ),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { campaignId, from, to }) {
    if (from && to && Date.parse(from) >= Date.parse(to)) throw invalid("to", "must be after from");
    const campaign = await findCampaign(context, campaignId, { deletedToo: true });
    const { channel, status } = campaign;
    const about = { campaign_id: campaign.id, channel, status };
    const kept = from || to ? null : await keptStats(context, campaign.id);
    if (kept) return { ...about, ...kept };
    const stats = await countSends(context, campaign, { from, to });
    return { ...about, as_of: new Date(context.now()).toISOString(), ...stats };
  },
});
