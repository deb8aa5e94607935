import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { fingerprintOf } from "#tools/approvals/approval.ts";
import { askAbout, shownState } from "./approval/approve.ts";
import { sendingWords } from "./approval/words.ts";
import { findCampaign, sentNow } from "./campaign/campaign.ts";
import { isSendable, Preflight, preflight } from "./preflight/preflight.ts";

// Counting is linear in the audience: a million players take some seconds, longer on a busy machine.
const DEADLINE_MS = 30_000;
const COUNT_FOR_MS = 15_000;

export default tool({
  name: "preflight_campaign",
  title: "Check a campaign before sending",
  description:
    "Checks whether a campaign can be sent as it is. Counts the players it would reach and those the compliance gate would block, by reason. Estimates what it would cost, and shows three rendered messages. Changes nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { campaignId: z.uuid().describe("From list_campaigns"), propertyId: z.uuid() },
  output: Preflight.extend({
    fingerprint: z
      .string()
      .describe(
        "Of all that was checked. Sending and scheduling take it, and refuse a campaign that has changed",
      ),
    confirm_token: z
      .string()
      .nullable()
      .describe("Over MCP, for send_campaign or send_sms_campaign. null: none is needed"),
  }),
  faults: ["not_found"],
  heavy: true,
  deadline: DEADLINE_MS,
  async handler(context, { campaignId }) {
    const campaign = sentNow(await findCampaign(context, campaignId));
    const checked = await preflight(context, campaign, COUNT_FOR_MS);
    const shown = await shownState(context, campaign);
    if (context.ask && context.call.transport === "mcp" && isSendable(checked)) {
      askAbout(context, campaign, shown, { sentences: () => sendingWords(context, campaign, checked) });
    }
    // The MCP answer adds the token.
    return { ...checked, fingerprint: fingerprintOf(campaign, shown), confirm_token: null };
  },
});
