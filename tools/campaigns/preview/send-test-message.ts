import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { contentHash } from "#tools/campaigns/approval/approve.ts";
import { examplesOf } from "#tools/campaigns/approval/words.ts";
import { findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { lockPause, refusePaused } from "#tools/campaigns/campaign/property-pause.ts";
import { notReady } from "#tools/campaigns/preflight/readiness.ts";
import sendTest from "./send-test.job.ts";
import {
  assertAllowed,
  asTested,
  recipientOf,
  shownAddress,
  testContent,
  testedVariant,
} from "./test-send.ts";

export default tool({
  name: "send_test_message",
  title: "Send one test of a campaign",
  description:
    "Sends the campaign's message as it is now to one address, with \"[Test]\" before an email's subject. The address must belong to a user of the property, or to a player whom the compliance gate allows now, quiet hours and frequency rules included. Tests count in none of the campaign's figures. A test of a voice campaign is a real call by the provider, or one by the simulator, under the same law: one call to a number a day.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  input: {
    campaignId: z.uuid().describe("From list_campaigns"),
    propertyId: z.uuid(),
    to: z
      .string()
      .max(320)
      .optional()
      .describe("An email address, or a phone number for sms and voice; push goes by playerId"),
    playerId: z
      .uuid()
      .optional()
      .describe(
        "From list_players. The recipient; with a user's address in to, the player whose values fill the message",
      ),
    variantId: z
      .string()
      .optional()
      .describe("Of the campaign's ab_test: which variant to send. Default: the first"),
    dry_run: z.boolean().default(false).describe("Only check, and answer the recipient's address"),
  },
  output: z.object({
    success: z.literal(true),
    send_id: z.uuid().optional().describe("For get_campaign_send. Not in a dry run"),
    to: z.string().describe("Masked"),
  }),
  faults: ["invalid", "forbidden", "not_found", "conflict"],
  async handler(context, { campaignId, to, playerId, variantId, dry_run }) {
    const { sql, property, enqueue, audit } = context;
    const pause = await lockPause(context, "shared");
    const campaign = await findCampaign(context, campaignId);
    refusePaused(pause);
    const { channel, content: compiled, problems } = await testContent(context, campaign);
    if (!compiled) throw notReady(problems);
    const variant = testedVariant(compiled, variantId);
    const recipient = await recipientOf(context, channel, { to, playerId });
    await assertAllowed(context, channel, recipient);
    const masked = shownAddress(channel, recipient);
    const content = await contentHash(context, campaign);
    context.ask?.({
      state: JSON.stringify([campaignId, content, masked, variant]),
      sentences: async () => [
        `One test of the campaign ${JSON.stringify(campaign.name)} goes to ${masked} now, ${recipient.staff ? "a user of the property" : "a player"}.`,
        ...(await examplesOf(context, asTested(campaign, variant))),
      ],
      // Its price is that of one message.
      reach: { players: () => 1, cost: () => 0 },
    });
    if (dry_run) return { success: true as const, to: masked };
    const id = randomUUIDv7();
    await sql`
      insert into campaign_sends (property_id, id, test_of, player_id, channel, status, address_hash, address_masked,
        variant_id, dedupe_key)
      values (${property.id}, ${id}, ${campaignId}, ${recipient.staff ? null : recipient.playerId}, ${channel},
        'pending', ${recipient.hash}, ${masked}, ${variant},
        sha256(convert_to(${`test|${id}`}, 'UTF8')))`;
    const addressed = channel === "push" ? {} : { to: recipient.address };
    enqueue(sendTest, { sendId: id, ...addressed, playerId: recipient.playerId, content });
    audit({ entity: "campaign_sends", entityId: id });
    return { success: true as const, send_id: id, to: masked };
  },
});
