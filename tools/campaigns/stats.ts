import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { UNCONFIRMED } from "#tools/compliance/frequency.ts";

const count = z.int();

export const LinkStats = z.object({
  link_id: z.uuid(),
  url: z.string().describe("Where it leads; with Liquid in it, a recipient's own address"),
  clicks_total: count.describe("Every click"),
  clicks_unique: count.describe("Recipients who clicked it"),
  clicks_human: count.describe("Recipients of whom a person seems to have clicked it"),
});

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
  pending: count.describe("Not handed over yet, or on the way"),
  deferred: count.describe("Of the pending: those that wait for opening hours, a cap or their own time"),
  sent: count.describe("Taken by the provider, with no word of delivery yet"),
  delivered: count,
  bounced: count,
  bounced_hard: count.describe("Of the messages handed over: refused for good"),
  bounced_soft: count.describe("Of the messages handed over: refused for the time being"),
  failed: count,
  unconfirmed: count.describe(
    "Of the failed: those of which the provider had not told for a day; the player may have the message",
  ),
  unknown: count.describe("Interrupted on the way to the provider; never sent again"),
  cancelled: count,
  complained: count.describe("Recipients, of those delivered to"),
  unsubscribed: count.describe("Recipients, of those delivered to"),
  opens_total: count.describe("Every opening, those by machines and those again included"),
  opens_unique: count.describe("Recipients whose message was opened, of those sent and delivered to"),
  opens_human: count.describe("Of opens_unique: not only by privacy proxies, filters and scanners"),
  clicks_total: count.describe("Every click, those by machines and those again included"),
  clicks_unique: count.describe("Recipients who clicked, of those sent and delivered to"),
  clicks_human: count.describe("Of clicks_unique: not only by filters and scanners"),
  converted: count.describe(
    "Recipients who reached the campaign's goal in its time, of those sent and delivered to",
  ),
  by_variant: z
    .record(z.string(), VariantStats)
    .describe("By the id of the variant, in a campaign with ab_test: recipients who were given one"),
  by_link: z.array(LinkStats).describe("The links that were clicked most, at most 50"),
});
export type CampaignStats = z.output<typeof CampaignStats>;

/** Recipients by when their message was handed over; those who got none by when they were planned. */
export interface Period {
  from?: string | undefined;
  to?: string | undefined;
}

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
];

/** The reason that a blocked recipient is counted under. */
export function firstReason(reasons: readonly string[]): string {
  return REASONS.find((reason) => reasons.includes(reason)) ?? reasons[0] ?? "unknown";
}

// What is counted of a recipient's row beside its status, by its name in the answer.
const FIGURES = {
  complained: "count(complained_at)",
  unsubscribed: "count(unsubscribed_at)",
  opens_total: "sum(opens)",
  opens_unique: "count(opened_at)",
  opens_human: "count(first_human_open_at)",
  clicks_total: "sum(clicks)",
  clicks_unique: "count(clicked_at)",
  clicks_human: "count(first_human_click_at)",
  converted: "count(converted_at)",
  unconfirmed: `count(*) filter (where ${UNCONFIRMED})`,
  bounced_hard: "count(*) filter (where bounce_type = 'hard')",
  bounced_soft: "count(*) filter (where bounce_type = 'soft')",
} as const;
type Figure = keyof typeof FIGURES;

interface Group extends Record<Figure, number> {
  status: string;
  skip_reasons: string[];
  variant_id: string | null;
  count: number;
}

const STATES = ["sent", "delivered", "bounced", "failed", "unknown", "cancelled"] as const;
type State = (typeof STATES)[number];
type Setting = Pick<Context, "sql" | "property">;

/** What became of the campaign's recipients, counted in one pass over them. */
export async function countSends(
  context: Setting,
  campaign: { id: string; status: string },
  period: Period = {},
): Promise<CampaignStats> {
  const { sql, property } = context;
  const figures = Object.entries(FIGURES).map(([name, text]) => `${text}::int as ${name}`);
  const [groups, by_link] = await Promise.all([
    sql<Group[]>`
      select status, skip_reasons, variant_id, count(*)::int as count, ${sql.unsafe(figures.join(", "))}
      from campaign_sends s
      where property_id = ${property.id} and campaign_id = ${campaign.id} ${within(sql, period)}
      group by status, skip_reasons, variant_id`,
    countLinks(context, campaign.id, period),
  ]);
  const summed = Object.fromEntries(
    Object.keys(FIGURES).map((name) => [name, sumOf(groups, name as Figure)]),
  );
  return {
    ...statesOf(groups, campaign.status),
    skipped: skippedByReason(groups),
    ...(summed as Record<Figure, number>),
    by_variant: byVariant(groups, campaign.status),
    by_link,
  };
}

function sumOf(groups: Group[], what: Figure | "count"): number {
  return groups.reduce((total, group) => total + group[what], 0);
}

/** How many there are in each state, but for the skipped. */
function statesOf(groups: Group[], campaignStatus: string) {
  const inStatus = (...wanted: string[]) =>
    sumOf(
      groups.filter(({ status }) => wanted.includes(status)),
      "count",
    );
  const byStatus = Object.fromEntries(STATES.map((status) => [status, inStatus(status)]));
  const counted = byStatus as Record<State, number>;
  const waiting = inStatus("pending", "deferred");
  // Nothing of a cancelled campaign is claimed any more, whether or not its rows say so already.
  const dropped = campaignStatus === "cancelled" ? waiting : 0;
  return {
    audience: sumOf(groups, "count"),
    pending: waiting - dropped + inStatus("sending"),
    deferred: dropped > 0 ? 0 : inStatus("deferred"),
    ...counted,
    cancelled: counted.cancelled + dropped,
  };
}

// Of what each rate is the share, among those sent and delivered to. Opens and clicks are those of people.
const RATES = {
  open_rate: "opens_human",
  click_rate: "clicks_human",
  conversion_rate: "converted",
  unsubscribe_rate: "unsubscribed",
} as const satisfies Record<string, Figure>;

function byVariant(groups: Group[], campaignStatus: string): CampaignStats["by_variant"] {
  const ids = new Set(groups.flatMap(({ variant_id }) => variant_id ?? []));
  const ofVariant = (id: string) => groups.filter(({ variant_id }) => variant_id === id);
  return Object.fromEntries(Array.from(ids, (id) => [id, variantOf(ofVariant(id), campaignStatus)]));
}

function variantOf(groups: Group[], campaignStatus: string): z.output<typeof VariantStats> {
  const { deferred: _, ...states } = statesOf(groups, campaignStatus);
  const sum = (what: Figure | "count", among = groups) => sumOf(among, what);
  const inStatus = (...wanted: string[]) => groups.filter(({ status }) => wanted.includes(status));
  const reached = inStatus("sent", "delivered");
  const rateOf = (figure: Figure) =>
    reached.length === 0 ? null : sum(figure, reached) / sum("count", reached);
  return {
    ...states,
    skipped: sum("count", inStatus("skipped")),
    opens_unique: sum("opens_unique"),
    opens_human: sum("opens_human"),
    clicks_unique: sum("clicks_unique"),
    clicks_human: sum("clicks_human"),
    converted: sum("converted"),
    unsubscribed: sum("unsubscribed"),
    complained: sum("complained"),
    open_rate: rateOf(RATES.open_rate),
    click_rate: rateOf(RATES.click_rate),
    conversion_rate: rateOf(RATES.conversion_rate),
    unsubscribe_rate: rateOf(RATES.unsubscribe_rate),
  };
}

function within(sql: Setting["sql"], { from, to }: Period) {
  return sql`${from ? sql`and coalesce(s.sent_at, s.created_at) >= ${from}::timestamptz` : sql``}
    ${to ? sql`and coalesce(s.sent_at, s.created_at) < ${to}::timestamptz` : sql``}`;
}

async function countLinks({ sql, property }: Setting, id: string, period: Period) {
  const some = period.from || period.to;
  const links = await sql<z.output<typeof LinkStats>[]>`
    select l.id as link_id, l.url, coalesce(sum(c.clicks), 0)::int as clicks_total, count(c.send_id)::int as clicks_unique,
      count(c.first_human_click_at)::int as clicks_human
    from campaign_links l
    left join campaign_clicks c on c.property_id = ${property.id} and c.campaign_id = ${id} and c.link_id = l.id
      ${some ? sql`and exists (select 1 from campaign_sends s where s.property_id = ${property.id} and s.id = c.send_id ${within(sql, period)})` : sql``}
    where l.property_id = ${property.id} and l.campaign_id = ${id}
    group by l.property_id, l.id order by clicks_total desc, l.id limit 50`;
  return [...links];
}

function skippedByReason(groups: Group[]): Record<string, number> {
  const skipped: Record<string, number> = {};
  for (const group of groups.filter(({ status }) => status === "skipped")) {
    const reason = firstReason(group.skip_reasons);
    skipped[reason] = (skipped[reason] ?? 0) + group.count;
  }
  return skipped;
}
