import { html } from "hono/html";
import type { CallStats } from "#tools/voice-calls/figures.ts";
import { bars, stacked, tiles } from "#transports/console/bars.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { numbers, tableOf } from "#transports/console/frame.ts";
import { term } from "#transports/console/terms.ts";
import { labelOf, timeOf, words } from "#transports/console/values.ts";
import { count, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { abTestSentence } from "./ab-test.ts";
import { callFigures, callTiles } from "./calls.ts";
import { reasonWords } from "./reasons.ts";

/** The states of recipients, in the order of a message's way. They add up to the audience. */
const STATES = [
  "delivered",
  "sent",
  "pending",
  "skipped",
  "bounced",
  "failed",
  "unknown",
  "cancelled",
] as const;

const COUNTS = [
  ...(["opens_unique", "opens_human", "clicks_unique", "clicks_human"] as const),
  ...(["converted", "redeemed", "unsubscribed", "complained"] as const),
] as const;

interface Link {
  url: string;
  clicks_total: number;
  clicks_unique: number;
  clicks_human: number;
}

type Variant = Record<string, number | null>;

export interface Stats
  extends Record<(typeof COUNTS)[number] | Exclude<(typeof STATES)[number], "skipped">, number> {
  audience: number;
  deferred: number;
  skipped: Record<string, number>;
  no_consent: Record<string, number> | null;
  theo_uplift: number | null;
  by_variant: Record<string, Variant>;
  by_link: Link[];
  calls: CallStats | null;
  as_of: string;
}

/** Where a campaign's recipients stand, why some were left out, and what the others did. */
export function reportOf(desk: Desk, campaign: Row, stats: Stats): Html {
  if (stats.audience === 0) {
    return html`<div class="empty"><p>${say().report.noRecipientsArePlannedYet} <a href="/console">${say().general.openNow}</a></p></div>`;
  }
  const { timezone } = desk.property;
  return html`${summary(stats)}<h2>${say().report.whereRecipientsStand(count(stats.audience))}</h2>${stacked(say().report.recipientsByState, statesOf(stats), stats.audience)}${waits(stats)}${skips(campaign, stats)}${stats.calls ? callFigures(stats.calls, campaign.id) : ""}${variants(desk, campaign, stats)}${stats.calls ? "" : links(stats)}<p class="soft">${say().report.countedAt(timeOf(stats.as_of, timezone))}</p>`;
}

function statesOf(stats: Stats): (readonly [string, number])[] {
  const all = STATES.map(
    (state) => [state, state === "skipped" ? sum(stats.skipped) : stats[state]] as const,
  );
  return all.filter(([, value]) => value > 0);
}

function waits({ deferred }: Stats): Html | "" {
  if (deferred === 0) return "";
  return html`<p class="soft">${say().report.pendingWait(count(deferred), term("quiet_hours"), term("cap"))}</p>`;
}

function summary(stats: Stats): Html {
  const reached = stats.sent + stats.delivered;
  const share = (value: number) =>
    reached === 0 ? "" : say().report.ofSent(((100 * value) / reached).toFixed(1));
  const figure = (name: string | Html, value: number) => ({ name, value: count(value), note: share(value) });
  const ofMessages = [
    { name: say().report.sent, value: count(reached), note: say().report.ofAudience(count(stats.audience)) },
    figure(html`${say().report.openedBy(term("human"))}`, stats.opens_human),
    figure(html`${say().report.clickedBy(term("human"))}`, stats.clicks_human),
    figure(say().report.unsubscribed, stats.unsubscribed),
    figure(say().report.complained, stats.complained),
  ];
  return tiles([
    ...(stats.calls ? callTiles(stats.calls, stats.audience) : ofMessages),
    figure(term("converted"), stats.converted),
    figure(term("redeemed"), stats.redeemed),
    ...(stats.theo_uplift === null
      ? []
      : [
          {
            name: term("theo_uplift"),
            value: count(Math.round(stats.theo_uplift)),
            note: say().report.overTheHoldout,
          },
        ]),
  ]);
}

function skips(campaign: Row, { skipped, no_consent }: Stats): Html | "" {
  const reasons = Object.entries(skipped).sort(([, one], [, other]) => other - one);
  if (reasons.length === 0) return "";
  const rows = reasons.map(([reason, value]) => {
    const list = `/console/records/campaign_sends?column=campaign_id&operator=eq&value=${campaign.id}&status=skipped`;
    return [
      reason,
      value,
      html`<a href="${list}">${words(reason)}</a><p class="soft">${reasonWords(reason, campaign.channel)}</p>`,
    ] as const;
  });
  const causes = no_consent ? Object.entries(no_consent).filter(([, value]) => value > 0) : [];
  return html`<h2>${say().report.leftOutAndWhy}</h2>${bars(say().report.skippedByReason, rows, sum(skipped), say().general.reason)}${causes.length > 0 ? html`<p class="soft">${say().general.withoutConsent(term("consent"), causes.map(([name, value]) => `${count(value)} ${labelOf(name)}`).join(", "))}</p>` : ""}`;
}

function variants(desk: Desk, campaign: Row, { by_variant, calls }: Stats): Html | "" {
  const all = Object.entries(by_variant);
  if (all.length === 0) return "";
  const test = campaign.ab_test as { variants: { id: string; name?: string }[] } | null;
  const nameOf = (id: string) => test?.variants.find((one) => one.id === id)?.name ?? id;
  const percent = (value: number | null | undefined) =>
    value === null || value === undefined ? say().general.none : `${(value * 100).toFixed(1)} %`;
  const rows = all.map(
    ([id, one]) =>
      html`<tr><th scope="row">${nameOf(id)}</th><td class="number">${count(one.audience ?? 0)}</td><td class="number">${count((one.sent ?? 0) + (one.delivered ?? 0))}</td>${calls ? "" : html`<td class="number">${percent(one.open_rate)}</td><td class="number">${percent(one.click_rate)}</td>`}<td class="number">${percent(one.conversion_rate)}</td></tr>`,
  );
  const { report } = say();
  const read = calls ? [] : [numbers(report.opened), numbers(report.clicked)];
  const heads = [
    report.variant,
    numbers(report.recipients),
    numbers(report.sent),
    ...read,
    numbers(report.converted),
  ];
  return html`<h2>${report.variants}</h2>${abTestSentence(desk, campaign)}${tableOf(report.byVariant, heads, rows, html``)}`;
}

function links({ by_link }: Stats): Html | "" {
  if (by_link.length === 0) return "";
  const most = Math.max(...by_link.map(({ clicks_unique }) => clicks_unique), 1);
  const rows = by_link.map(({ url, clicks_total, clicks_unique, clicks_human }) => {
    const width = ((100 * clicks_unique) / most).toFixed(2);
    return html`<tr><th scope="row" class="address">${url}</th><td class="number">${count(clicks_total)}</td><td class="number">${count(clicks_unique)}</td><td class="number">${count(clicks_human)}</td><td class="bar-cell"><svg class="bar-of clicks" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="10"/></svg></td></tr>`;
  });
  return html`<h2>${say().report.links}</h2>${tableOf(say().report.byLink, [say().report.link, numbers(say().report.clicks), numbers(say().report.recipients), numbers(html`${term("human", say().report.byPeople)}`), say().general.chart], rows, html``)}`;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, value) => total + value, 0);
}
