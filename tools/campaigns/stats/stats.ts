import type { z } from "zod";
import { identifier, join, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { AbTest } from "#tools/campaigns/campaign/ab-test.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { UNCONFIRMED } from "#tools/compliance/frequency.ts";
import { countCalls } from "#tools/voice-calls/figures.ts";
import type { CampaignStats, NoConsent, VariantStats } from "./answer.ts";
import { compareVariants } from "./compare-variants.ts";
import { type Accepted, costSoFar } from "./cost.ts";
import { compareHoldout } from "./holdout.ts";
import { countMessages } from "./inbox.ts";
import { countLinks } from "./links.ts";
import { type Period, within } from "./period.ts";

// A recipient with several reasons counts under the first of these.
const REASONS = [
  "erased",
  "deleted",
  "deceased",
  "self_excluded",
  "banned",
  "vip_hold",
  "dnc",
  "suppressed",
  "shared_address",
  "needs_review",
  "consent_expired",
  "no_consent",
  "underage",
  "invalid_address",
  "reassigned_number",
  "holdout",
  "duplicate_address",
  "address_changed",
  "quiet_hours",
  "frequency_capped",
  "expired",
  "simulated",
];

/** The reason that counts for a blocked recipient. */
export function firstReason(reasons: readonly string[]): string {
  return REASONS.find((reason) => reasons.includes(reason)) ?? reasons[0] ?? "unknown";
}

// Counts beside the status, by their names in the answer.
const FIGURES = {
  complained: sql`count(complained_at)`,
  unsubscribed: sql`count(unsubscribed_at)`,
  opens_total: sql`sum(opens)`,
  opens_unique: sql`count(opened_at)`,
  opens_human: sql`count(first_human_open_at)`,
  clicks_total: sql`sum(clicks)`,
  clicks_unique: sql`count(clicked_at)`,
  clicks_human: sql`count(first_human_click_at)`,
  converted: sql`count(converted_at)`,
  redeemed: sql`count(redeemed_at)`,
  unconfirmed: sql`count(*) filter (where ${UNCONFIRMED})`,
  bounced_hard: sql`count(*) filter (where bounce_type = 'hard')`,
  bounced_soft: sql`count(*) filter (where bounce_type = 'soft')`,
};
type Figure = keyof typeof FIGURES;
const COUNTED = join(
  Object.entries(FIGURES).map(([name, figure]) => sql`${figure}::int as ${identifier(name)}`),
);

interface SendGroup extends Record<Figure, number>, Accepted {
  status: string;
  skip_reasons: string[];
  variant_id: string | null;
  count: number;
}

const STATES = ["sent", "delivered", "bounced", "failed", "unknown", "cancelled"] as const;
type State = (typeof STATES)[number];

/** Counts the campaign's recipients in one pass over its sends. */
export async function countSends(
  context: Tenant,
  campaign: Pick<
    Campaign,
    "id" | "status" | "goal" | "holdout_percent" | "channel" | "ab_test" | "ab_result"
  >,
  period: Period = {},
): Promise<CampaignStats> {
  const { sql, property } = context;
  const [groups, by_link] = await Promise.all([
    sql<SendGroup[]>`
      select status, skip_reasons, variant_id, provider, provider_id, count(*)::int as count, ${COUNTED},
        count(sent_at)::int as accepted, coalesce(sum(segments) filter (where sent_at is not null), 0)::int as segments
      from campaign_sends s
      where property_id = ${property.id} and campaign_id = ${campaign.id} ${within(sql, period)}
      group by status, skip_reasons, variant_id, provider, provider_id`,
    countLinks(context, campaign.id, period),
  ]);
  const summed = Object.fromEntries(
    Object.keys(FIGURES).map((name) => [name, sumOf(groups, name as Figure)]),
  );
  const skipped = skippedByReason(groups);
  const compared =
    campaign.holdout_percent > 0
      ? await compareHoldout(context, campaign, within(sql, period))
      : NOT_COMPARED;
  const channel = sendingChannel(campaign);
  const calls = channel === "voice" ? await countCalls(context, campaign.id, within(sql, period)) : null;
  return {
    ...statesOf(groups, campaign.status),
    skipped,
    no_consent: skipped.no_consent ? await withoutConsent(context, campaign.id, period) : NOBODY,
    ...(summed as Record<Figure, number>),
    ...compared,
    calls,
    inbox: channel === "inbox" ? await countMessages(context, campaign.id, period) : null,
    cost: await costSoFar(context, channel, { groups, calls }),
    ab_test: compareVariants(campaign, (id, metric) =>
      reachedOf(ofVariant(groups, id), METRIC_FIGURES[metric]),
    ),
    by_variant: byVariant(groups, campaign.status),
    by_link,
  };
}

const NOT_COMPARED = { holdout: null, theo_uplift: null };
const NOBODY: NoConsent = { refused: 0, insufficient: 0, never_asked: 0, no_address: 0 };
/** Reasons that count before `no_consent`. */
const BEFORE_CONSENT = REASONS.slice(0, REASONS.indexOf("no_consent"));

async function withoutConsent(
  { sql, property }: Tenant,
  campaignId: string,
  period: Period,
): Promise<NoConsent> {
  const groups = await sql<{ cause: keyof NoConsent; count: number }[]>`
    select case when p.consents ->> s.channel = 'false' then 'refused'
        when s.address_hash is null then 'no_address' when p.consents ->> s.channel = 'true' then 'insufficient' else 'never_asked' end as cause, count(*)::int as count
    from campaign_sends s
    left join players p on p.property_id = ${property.id} and p.id = s.player_id
    where s.property_id = ${property.id} and s.campaign_id = ${campaignId} and s.status = 'skipped'
      and 'no_consent' = any(s.skip_reasons) and not s.skip_reasons && ${BEFORE_CONSENT}::text[] ${within(sql, period)}
    group by 1`;
  return { ...NOBODY, ...Object.fromEntries(groups.map(({ cause, count }) => [cause, count])) };
}

/** Up to this number of recipients each reader gets a new count: it takes some 50 ms. */
export const COUNTED_ANEW = 20_000;

/** The last count of a campaign that is too large to be counted for each reader; null for the others. */
export async function keptStats(
  { sql, property }: Tenant,
  id: string,
): Promise<(CampaignStats & { as_of: string }) | null> {
  // An older version did not count all of these.
  const [row] = await sql<{ stats: CampaignStats; as_of: string }[]>`
    select '{"by_variant": {}, "no_consent": null, "redeemed": 0, "theo_uplift": null, "holdout": null, "calls": null, "inbox": null, "cost": null, "ab_test": null}'::jsonb || stats as stats, to_json(stats_at) #>> '{}' as as_of from campaigns
    where property_id = ${property.id} and id = ${id} and audience_count > ${COUNTED_ANEW}
      and stats_at is not null`;
  return row ? { as_of: row.as_of, ...row.stats } : null;
}

/** Keeps a count in the campaign's record. This is no change of the campaign: its version stays. */
export async function keepStats({ sql, property }: Tenant, id: string, stats: CampaignStats): Promise<void> {
  await sql`
    update campaigns set stats = ${stats}::jsonb, stats_at = now()
    where property_id = ${property.id} and id = ${id}`;
}

function sumOf(groups: SendGroup[], figure: Figure | "count"): number {
  return groups.reduce((total, group) => total + group[figure], 0);
}

/** The numbers of recipients in each state, without the skipped. */
function statesOf(groups: SendGroup[], campaignStatus: string) {
  const inStatus = (...statuses: string[]) =>
    sumOf(
      groups.filter(({ status }) => statuses.includes(status)),
      "count",
    );
  const byStatus = Object.fromEntries(STATES.map((status) => [status, inStatus(status)]));
  const counted = byStatus as Record<State, number>;
  const waiting = inStatus("pending", "deferred");
  // A cancelled campaign sends nothing more, even while its waiting rows are not marked as cancelled yet.
  const dropped = campaignStatus === "cancelled" ? waiting : 0;
  return {
    audience: sumOf(groups, "count"),
    pending: waiting - dropped + inStatus("sending"),
    deferred: dropped > 0 ? 0 : inStatus("deferred"),
    ...counted,
    cancelled: counted.cancelled + dropped,
  };
}

// The figure that each rate divides by the sent and delivered messages. Opens and clicks are those of people.
const RATES = {
  open_rate: "opens_human",
  click_rate: "clicks_human",
  conversion_rate: "converted",
  unsubscribe_rate: "unsubscribed",
} as const satisfies Record<string, Figure>;

const METRIC_FIGURES = {
  open: "opens_human",
  click: "clicks_human",
  conversion: "converted",
  redeem: "redeemed",
} as const satisfies Record<AbTest["metric"], Figure>;

const ofVariant = (groups: SendGroup[], id: string) => groups.filter(({ variant_id }) => variant_id === id);

/** The recipients sent and delivered to, and those of them who reached a figure. */
function reachedOf(groups: SendGroup[], figure: Figure): { sample: number; count: number } {
  const reached = groups.filter(({ status }) => status === "sent" || status === "delivered");
  return { sample: sumOf(reached, "count"), count: sumOf(reached, figure) };
}

function byVariant(groups: SendGroup[], campaignStatus: string): CampaignStats["by_variant"] {
  const ids = new Set(groups.flatMap(({ variant_id }) => variant_id ?? []));
  return Object.fromEntries(Array.from(ids, (id) => [id, variantOf(ofVariant(groups, id), campaignStatus)]));
}

function variantOf(groups: SendGroup[], campaignStatus: string): z.output<typeof VariantStats> {
  const { deferred: _, ...states } = statesOf(groups, campaignStatus);
  const sum = (figure: Figure) => sumOf(groups, figure);
  const rateOf = (figure: Figure) => {
    const { sample, count } = reachedOf(groups, figure);
    return sample === 0 ? null : count / sample;
  };
  return {
    ...states,
    skipped: sumOf(
      groups.filter(({ status }) => status === "skipped"),
      "count",
    ),
    opens_unique: sum("opens_unique"),
    opens_human: sum("opens_human"),
    clicks_unique: sum("clicks_unique"),
    clicks_human: sum("clicks_human"),
    converted: sum("converted"),
    redeemed: sum("redeemed"),
    unsubscribed: sum("unsubscribed"),
    complained: sum("complained"),
    open_rate: rateOf(RATES.open_rate),
    click_rate: rateOf(RATES.click_rate),
    conversion_rate: rateOf(RATES.conversion_rate),
    unsubscribe_rate: rateOf(RATES.unsubscribe_rate),
  };
}

function skippedByReason(groups: SendGroup[]): Record<string, number> {
  const skipped: Record<string, number> = {};
  for (const group of groups.filter(({ status }) => status === "skipped")) {
    const reason = firstReason(group.skip_reasons);
    skipped[reason] = (skipped[reason] ?? 0) + group.count;
  }
  return skipped;
}
