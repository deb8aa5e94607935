// @ts-check
import { callFigures, callTiles } from "./calls.js";
import { html } from "./html.js";
import {
  barOf,
  linked,
  numbers,
  percent,
  reasonBars,
  stacked,
  sumOf,
  tableOf,
  tiles,
  withoutConsent,
} from "./parts.js";

/**
 * @typedef {import("./parts.js").Reader} Reader
 * @typedef {import("#tools/campaigns/stats/answer.ts").CampaignStats & { campaign_id: string, channel: string, as_of: string }} Stats
 */

/** The states of recipients, in the order of a message's way. They add up to the audience. */
const STATES = /** @type {const} */ ([
  "delivered",
  "sent",
  "pending",
  "skipped",
  "bounced",
  "failed",
  "unknown",
  "cancelled",
]);

/**
 * The answer of campaign_stats: where the recipients stand, why some were left out, and what the others did.
 * @param {Stats} stats @param {Reader} reader
 * @param {Readonly<Record<string, string>>} variantNames the names of variants by their ids
 */
export function render(stats, reader, variantNames = {}) {
  const { words, count, time, pathOf } = reader;
  if (stats.audience === 0) {
    const path = pathOf("now");
    return html`<div class="empty"><p>${words.report.noRecipientsArePlannedYet} ${path && linked(path, words.general.openNow)}</p></div>`;
  }
  const { calls, campaign_id: id } = stats;
  const read = calls ? callFigures(reader, calls, id) : "";
  return html`${summary(stats, reader)}<h2>${words.report.whereRecipientsStand(count(stats.audience))}</h2>${stacked(reader, { caption: words.report.recipientsByState, parts: statesOf(stats), whole: stats.audience })}${waits(stats, reader)}${skips(stats, reader)}${read}${variants(stats, reader, variantNames)}${calls ? "" : links(stats, reader)}<p class="soft">${words.report.countedAt(time(stats.as_of))}</p>`;
}

/** @param {Stats} stats @returns {(readonly [string, number])[]} */
function statesOf(stats) {
  return STATES.map(
    (state) => /** @type {const} */ ([state, state === "skipped" ? sumOf(stats.skipped) : stats[state]]),
  ).filter(([, value]) => value > 0);
}

/** @param {Stats} stats @param {Reader} reader */
function waits({ deferred }, { words, count, term }) {
  if (deferred === 0) return "";
  return html`<p class="soft">${words.report.pendingWait(count(deferred), term("quiet_hours"), term("cap"))}</p>`;
}

/**
 * Nobody tells of the opening of a text or a call.
 * @param {Stats} stats
 */
const isRead = ({ channel }) => channel !== "sms" && channel !== "voice";

/** @param {Stats} stats @param {Reader} reader */
function summary(stats, reader) {
  const { words, count, term } = reader;
  const reached = stats.sent + stats.delivered;
  /** @param {unknown} name @param {number} value */
  const figure = (name, value) => ({
    name,
    value: count(value),
    note: reached === 0 ? "" : words.report.ofSent(percent(value, reached)),
  });
  // An inbox is the casino's own: nobody but players opens its messages.
  const read = stats.inbox
    ? [
        figure(words.report.seen, stats.inbox.seen),
        figure(words.report.opened, stats.inbox.read),
        figure(words.report.clicked, stats.inbox.clicked),
      ]
    : [
        figure(words.report.openedBy(term("human")), stats.opens_human),
        figure(words.report.clickedBy(term("human")), stats.clicks_human),
      ];
  const ofMessages = [
    { name: words.report.sent, value: count(reached), note: words.report.ofAudience(count(stats.audience)) },
    ...(isRead(stats) ? read : []),
    figure(words.report.unsubscribed, stats.unsubscribed),
    figure(words.report.complained, stats.complained),
  ];
  const uplift =
    stats.theo_uplift === null
      ? []
      : [
          {
            name: term("theo_uplift"),
            value: count(Math.round(stats.theo_uplift)),
            note: words.report.overTheHoldout,
          },
        ];
  return tiles([
    ...(stats.calls ? callTiles(reader, stats.calls, stats.audience) : ofMessages),
    figure(term("converted"), stats.converted),
    figure(term("redeemed"), stats.redeemed),
    ...uplift,
  ]);
}

/** @param {Stats} stats @param {Reader} reader */
function skips({ campaign_id: id, skipped, no_consent, calls }, reader) {
  if (Object.keys(skipped).length === 0) return "";
  const { words, pathOf } = reader;
  const drawn = reasonBars(reader, {
    caption: words.report.skippedByReason,
    counts: skipped,
    whole: sumOf(skipped),
    channel: calls ? "voice" : null,
    pathOf: () => pathOf("skipped", id),
  });
  return html`<h2>${words.report.leftOutAndWhy}</h2>${drawn}${withoutConsent(reader, no_consent)}`;
}

/** @param {Stats} stats @param {Reader} reader @param {Readonly<Record<string, string>>} names */
function variants(stats, { words, count }, names) {
  const all = Object.entries(stats.by_variant);
  if (all.length === 0) return "";
  /** @param {number | null | undefined} rate */
  const rated = (rate) => (typeof rate === "number" ? `${percent(rate, 1)} %` : words.general.none);
  const rows = all.map(
    ([id, one]) =>
      html`<tr><th scope="row">${names[id] ?? id}</th><td class="number">${count(one.audience)}</td><td class="number">${count(one.sent + one.delivered)}</td>${isRead(stats) ? html`<td class="number">${rated(one.open_rate)}</td><td class="number">${rated(one.click_rate)}</td>` : ""}<td class="number">${rated(one.conversion_rate)}</td></tr>`,
  );
  const heads = [
    words.report.variant,
    numbers(words.report.recipients),
    numbers(words.report.sent),
    ...(isRead(stats) ? [numbers(words.report.opened), numbers(words.report.clicked)] : []),
    numbers(words.report.converted),
  ];
  return html`<h2>${words.report.variants}</h2>${tableOf(words.report.byVariant, heads, rows, "")}`;
}

/** @param {Stats} stats @param {Reader} reader */
function links({ by_link }, { words, count, term }) {
  if (by_link.length === 0) return "";
  const most = Math.max(...by_link.map(({ clicks_unique }) => clicks_unique), 1);
  const rows = by_link.map(
    ({ url, clicks_total, clicks_unique, clicks_human }) =>
      html`<tr><th scope="row" class="address">${url}</th><td class="number">${count(clicks_total)}</td><td class="number">${count(clicks_unique)}</td><td class="number">${count(clicks_human)}</td><td class="bar-cell">${barOf(clicks_unique, most, "clicks")}</td></tr>`,
  );
  const heads = [
    words.report.link,
    numbers(words.report.clicks),
    numbers(words.report.recipients),
    numbers(term("human", words.report.byPeople)),
    words.general.chart,
  ];
  return html`<h2>${words.report.links}</h2>${tableOf(words.report.byLink, heads, rows, "")}`;
}
