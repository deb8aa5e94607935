import { z } from "zod";
import type { Context } from "#runtime/operation.ts";

const count = z.int();

/** audience = skipped (the sum of its reasons) + pending + sent + delivered + bounced + failed + unknown + cancelled. */
export const CampaignStats = z.object({
  audience: count.describe("All recipients, the skipped included"),
  skipped: z.record(z.string(), count).describe("Each skipped recipient once, under the first reason"),
  pending: count.describe("Not handed over yet, or on the way"),
  deferred: count.describe("Of the pending: those that wait for opening hours, a cap or their own time"),
  sent: count.describe("Taken by the provider, with no word of delivery yet"),
  delivered: count,
  bounced: count,
  failed: count,
  unknown: count.describe("Interrupted on the way to the provider; never sent again"),
  cancelled: count,
  complained: count,
  unsubscribed: count,
  opens_unique: count,
  clicks_unique: count,
});
export type CampaignStats = z.output<typeof CampaignStats>;

// A recipient with several reasons is counted under the first of these.
const REASONS = [
  "erased",
  "deleted",
  "deceased",
  "self_excluded",
  "banned",
  "vip_hold",
  "dnc",
  "suppressed",
  "needs_review",
  "no_consent",
  "consent_expired",
  "underage",
  "invalid_address",
  "reassigned_number",
  "duplicate_address",
  "address_changed",
  "quiet_hours",
  "frequency_capped",
  "expired",
];

/** The reason that a blocked recipient is counted under. */
export function firstReason(reasons: readonly string[]): string {
  return REASONS.find((reason) => reasons.includes(reason)) ?? reasons[0] ?? "unknown";
}

interface Group {
  status: string;
  skip_reasons: string[];
  count: number;
  complained: number;
  unsubscribed: number;
  opened: number;
  clicked: number;
}

const STATES = ["sent", "delivered", "bounced", "failed", "unknown", "cancelled"] as const;

/** What became of the campaign's recipients, counted in one statement. */
export async function countSends(
  { sql, property }: Pick<Context, "sql" | "property">,
  campaign: { id: string; status: string },
): Promise<CampaignStats> {
  const groups = await sql<Group[]>`
    select status, skip_reasons, count(*)::int as count, count(complained_at)::int as complained,
      count(unsubscribed_at)::int as unsubscribed, count(opened_at)::int as opened,
      count(clicked_at)::int as clicked
    from campaign_sends
    where property_id = ${property.id} and campaign_id = ${campaign.id}
    group by status, skip_reasons`;
  const sum = (pick: (group: Group) => number) => groups.reduce((total, group) => total + pick(group), 0);
  const inStatus = (...wanted: string[]) => sum((group) => (wanted.includes(group.status) ? group.count : 0));
  const counted = Object.fromEntries(STATES.map((status) => [status, inStatus(status)])) as Record<
    (typeof STATES)[number],
    number
  >;
  const waiting = inStatus("pending", "deferred");
  // Nothing of a cancelled campaign is claimed any more, whether or not its rows say so already.
  const dropped = campaign.status === "cancelled" ? waiting : 0;
  return {
    audience: sum((group) => group.count),
    skipped: skippedByReason(groups),
    pending: waiting - dropped + inStatus("sending"),
    deferred: dropped > 0 ? 0 : inStatus("deferred"),
    ...counted,
    cancelled: counted.cancelled + dropped,
    complained: sum((group) => group.complained),
    unsubscribed: sum((group) => group.unsubscribed),
    opens_unique: sum((group) => group.opened),
    clicks_unique: sum((group) => group.clicked),
  };
}

function skippedByReason(groups: Group[]): Record<string, number> {
  const skipped: Record<string, number> = {};
  for (const group of groups.filter(({ status }) => status === "skipped")) {
    const reason = firstReason(group.skip_reasons);
    skipped[reason] = (skipped[reason] ?? 0) + group.count;
  }
  return skipped;
}
