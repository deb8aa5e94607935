import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { ShownMessage, shownTo } from "./shown.ts";

export default tool({
  name: "preview_campaign",
  title: "Show a campaign's message to one player",
  description:
    "Renders the campaign's message as one player would get it, whether or not the gate allows it, with its subject, preheader, size and links. Without a player, made-up values fill it. Changes nothing and sends nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
    playerId: z.uuid().optional().describe("From list_players"),
    variantId: z.string().optional().describe("Of the campaign's ab_test. Default: the first"),
  },
  output: ShownMessage,
  faults: ["invalid", "not_found"],
  handler: async (context, { campaignId, ...chosen }) =>
    shownTo(context, await findCampaign(context, campaignId), chosen),
});
