import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { findCampaign } from "./campaign.ts";
import { Preflight, preflight } from "./preflight.ts";

// Counting is linear in the audience: a million players take their time, and a busy machine longer.
const DEADLINE_MS = 30_000;
const COUNT_FOR_MS = 15_000;

export default tool({
  name: "preflight_campaign",
  title: "Check a campaign before sending",
  description:
    "Says whether a campaign can be sent as it is, how many players it would reach, how many the compliance gate would block and why, and shows three rendered messages. Changes nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { campaignId: z.uuid().describe("From list_campaigns"), propertyId: z.uuid() },
  output: Preflight,
  faults: ["not_found"],
  deadline: DEADLINE_MS,
  handler: async (context, { campaignId }) =>
    preflight(context, await findCampaign(context, campaignId), COUNT_FOR_MS),
});
