import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { Hour, hoursOf } from "./hours.ts";

export default tool({
  name: "campaign_hours",
  title: "A campaign's messages, opens and clicks by the hour",
  description:
    "Counts by the hour, from the first message on for a week: the messages handed over, and the recipients whose first open and first click, by people, came then. Hours without any are left out. Totals are in campaign_stats.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  heavy: true,
  input: { campaignId: z.uuid().describe("From list_campaigns"), propertyId: z.uuid() },
  output: z.object({
    as_of: timestamp().describe(
      "Time of the count: a large campaign is counted a few times a minute at most",
    ),
    hours: z.array(Hour),
  }),
  faults: ["not_found"],
  async handler(context, { campaignId }) {
    const campaign = await findCampaign(context, campaignId, { deletedToo: true });
    return hoursOf(context, campaign.id);
  },
});
