// @ts-check
import { html } from "./html.js";
import { linked, reasonBars, saidList, tiles } from "./parts.js";

/**
 * @typedef {import("./parts.js").Reader} Reader
 * @typedef {import("#tools/campaigns/preflight/preflight.ts").Preflight} Preflight
 */

/** The answer of preflight_campaign: who would get it now, who would not and why, and what it would cost.
 * @param {Preflight} checked @param {Reader} reader @param {{ campaignId?: string, channel?: unknown }} campaign */
export function render(checked, reader, { campaignId, channel } = {}) {
  const { words, term } = reader;
  const { blocked, audience } = checked;
  const left =
    Object.keys(blocked).length > 0
      ? html`<h2>${words.general.whoGetsNoneAndWhy}</h2>${reasonBars(reader, { caption: words.general.blockedByReason, counts: blocked, whole: audience, channel })}`
      : html`<h2>${words.report.whoGetsNone}</h2><p>${words.report.gateBlocksNobody(term("gate"))}</p>`;
  return html`${verdict(checked, reader)}${tiles(reachOf(checked, reader))}${left}<h2>${words.report.firstWhoGet}</h2>${samples(checked, reader, campaignId)}`;
}

/** @param {Preflight} checked @param {Reader} reader */
function verdict({ ok, errors, warnings }, reader) {
  const { words } = reader;
  const problems = errors.map(({ field, message }) => `${field}: ${message}`);
  const said = ok
    ? html`<p class="said" role="status">${words.report.canBeSentNow}</p>`
    : html`<div class="wrong" role="alert"><p>${words.report.cannotBeSentAs}</p>${saidList(reader, problems)}</div>`;
  return html`${said}${saidList(reader, warnings)}`;
}

/** @param {Preflight} checked @param {Reader} reader */
function reachOf({ audience, allowed, deferred, estimated_cost }, { words, count, money }) {
  const waiting = Object.values(deferred).reduce((total, one) => total + one.count, 0);
  const { amount, currency } = estimated_cost ?? { amount: null, currency: null };
  const priced = currency === null ? words.general.none : money(amount ?? 0, currency);
  return [
    { name: words.report.audience, value: count(audience), note: words.report.playersBelow },
    { name: words.general.messages, value: count(allowed), note: words.report.wouldGoOutNow },
    { name: words.general.waitFirst, value: count(waiting), note: words.general.forHoursOrCap },
    { name: words.report.estimatedCost, value: amount === null ? words.report.notKnown : priced },
  ];
}

/** @param {Preflight} checked @param {Reader} reader @param {string | undefined} campaignId */
function samples({ sample_renders }, { words, pathOf }, campaignId) {
  if (sample_renders.length === 0) return html`<p class="soft">${words.general.nobodyWouldGetIt}</p>`;
  const each = sample_renders.map(({ player_id, to, subject, text }) => {
    const path = campaignId === undefined ? null : pathOf("sample", campaignId, player_id);
    const title = html`${to}${subject ? html`: ${subject}` : ""}`;
    return path
      ? html`<li>${title} ${linked(path, words.report.seeThisMessage)}</li>`
      : html`<details><summary>${title}</summary><pre>${text}</pre></details>`;
  });
  return campaignId === undefined ? html`${each}` : html`<ul>${each}</ul>`;
}
