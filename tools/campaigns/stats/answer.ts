import { z } from "zod";
import { CallStats } from "#tools/voice-calls/figures.ts";
import { AbComparison } from "./compare-variants.ts";
import { CostSoFar } from "./cost.ts";
import { Holdout } from "./holdout.ts";
import { InboxStats } from "./inbox.ts";

const count = z.int();

export const LinkStats = z.object({
  link_id: z.uuid(),
  url: z.string().describe("Its address; with Liquid in it, a recipient's own"),
  clicks_total: count.describe("Every click"),
  clicks_unique: count.describe("Recipients who clicked it"),
  clicks_human: count.describe("Recipients whose click seems to come from a person"),
});

/** `no_consent` by its cause. */
export const NoConsent = z
  .object({ refused: count, insufficient: count, never_asked: count, no_address: count })
  .describe(
    "Players without consent: they refused, agreed to less or for a time that is over, were never asked, or have no address either",
  );
export type NoConsent = z.output<typeof NoConsent>;

const rate = () => z.number().nullable().describe("Of sent and delivered; null without any");

/** audience = skipped + pending + sent + delivered + bounced + failed + unknown + cancelled. */
export const VariantStats = z.object({
  audience: count,
  skipped: count,
  pending: count,
  sent: count,
  delivered: count,
  bounced: count,
  failed: count,
  unknown: count,
  cancelled: count,
  opens_unique: count,
  opens_human: count,
  clicks_unique: count,
  clicks_human: count,
  converted: count,
  redeemed: count,
  unsubscribed: count,
  complained: count,
  open_rate: rate(),
  click_rate: rate(),
  conversion_rate: rate(),
  unsubscribe_rate: rate(),
});

/** audience = skipped (the sum of its reasons) + pending + sent + delivered + bounced + failed + unknown + cancelled. */
export const CampaignStats = z.object({
  audience: count.describe("All recipients, the skipped included"),
  skipped: z.record(z.string(), count).describe("Each skipped recipient once, under the first reason"),
  no_consent: NoConsent.nullable().describe(
    "Of skipped.no_consent, by the consents of today. null for a large campaign's earlier count",
  ),
  pending: count.describe("Not handed over yet, or on the way"),
  deferred: count.describe("Of the pending: those that wait for opening hours, a cap or their own time"),
  sent: count.describe("Accepted by the provider, delivery not confirmed yet"),
  delivered: count,
  bounced: count,
  bounced_hard: count.describe("Of the messages handed over: refused for good"),
  bounced_soft: count.describe("Of the messages handed over: refused temporarily"),
  failed: count,
  unconfirmed: count.describe(
    "Of the failed: no result from the provider for a day; the player may have the message",
  ),
  unknown: count.describe("Interrupted on the way to the provider; never sent again"),
  cancelled: count,
  complained: count.describe("Recipients, of those delivered to"),
  unsubscribed: count.describe("Recipients, of those delivered to"),
  opens_total: count.describe("Every opening, including repeated ones and those by machines"),
  opens_unique: count.describe("Recipients whose message was opened, of those sent and delivered to"),
  opens_human: count.describe("Of opens_unique: not only by privacy proxies, filters and scanners"),
  clicks_total: count.describe("Every click, including repeated ones and those by machines"),
  clicks_unique: count.describe("Recipients who clicked, of those sent and delivered to"),
  clicks_human: count.describe("Of clicks_unique: not only by filters and scanners"),
  converted: count.describe(
    "Recipients who reached the campaign's goal in its time, of those sent and delivered to. Marked within a minute at first, and within six hours for an older campaign; holdout counts at once",
  ),
  redeemed: count.describe(
    "Recipients who redeemed a prize of the game of the campaign's ticket, or have an event offer_redeemed with its campaign_id",
  ),
  theo_uplift: z
    .number()
    .nullable()
    .describe(
      "Theoretical win over that of as many held out: the sum of theo in events within the goal's window, else a week. null without a holdout",
    ),
  holdout: Holdout.nullable(),
  calls: CallStats.nullable().describe("Of a voice campaign; null of others"),
  inbox: InboxStats.nullable().describe("Of a campaign into the inbox; null of others"),
  cost: CostSoFar.nullable(),
  ab_test: AbComparison.nullable(),
  by_variant: z
    .record(z.string(), VariantStats)
    .describe("By the id of the variant, in a campaign with ab_test: recipients that have one"),
  by_link: z.array(LinkStats).describe("The most clicked links, at most 50"),
});
export type CampaignStats = z.output<typeof CampaignStats>;
