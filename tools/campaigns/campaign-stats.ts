import { z } from "zod";
import { timestamp } from "#runtime/columns.ts";
import { invalid } from "#runtime/faults.ts";
import { tool } from "#runtime/operation.ts";
import { findCampaign, STATUSES } from "./campaign.ts";
import { keptStats } from "./kept-stats.ts";
import { CampaignStats, countSends } from "./stats.ts";

export default tool({
  name: "campaign_stats",
  title: "Count what became of a campaign",
  description:
    "Counts a campaign's recipients by what became of them. audience = skipped (sum) + pending + sent + delivered + bounced + failed + unknown + cancelled.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
    from: timestamp()
      .optional()
      .describe("Only recipients whose message was handed over from then on, with all that came of it since"),
    to: timestamp().optional().describe("Only those whose message was handed over before"),
  },
  output: CampaignStats.extend({
    campaign_id: z.uuid(),
    status: z.enum(STATUSES),
    as_of: timestamp().describe(
      "When it was counted: a large campaign is counted a few times a minute at most",
    ),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { campaignId, from, to }) {
    if (from && to && Date.parse(from) >= Date.parse(to)) throw invalid("to", "must be after from");
    const campaign = await findCampaign(context, campaignId);
    const about = { campaign_id: campaign.id, status: campaign.status };
    const kept = from || to ? null : await keptStats(context, campaign);
    if (kept) return { ...about, ...kept };
    const stats = await countSends(context, campaign, { from, to });
    return { ...about, as_of: new Date(context.now()).toISOString(), ...stats };
  },
});
