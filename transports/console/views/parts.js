// @ts-check
import { html } from "./html.js";

/**
 * @typedef {import("./html.js").Html} Html
 * @typedef {import("./speech.js").Speech} Speech
 *
 * The reader of a view: their language, their clock, and the ways to records. In an agent's window there are none.
 * @typedef {Speech & { time(iso: string): import("#transports/pages/frame/page.ts").Html, pathOf(record: Record, ...ids: string[]): string | null }} Reader
 * @typedef {"campaign" | "player" | "node" | "skipped" | "calls" | "sample" | "guide" | "now"} Record
 *
 * The head of a column. That of numbers stands at the right, as they do.
 * @typedef {unknown | { ofNumbers: unknown }} Head
 * @typedef {{ name: unknown, value: unknown, note?: unknown }} Tile
 */

/** A column of numbers. @param {unknown} head */
export function numbers(head) {
  return { ofNumbers: head };
}

/** @param {Head} head */
function headCell(head) {
  return typeof head === "object" && head !== null && "ofNumbers" in head
    ? html`<th scope="col" class="number">${head.ofNumbers}</th>`
    : html`<th scope="col">${head}</th>`;
}

/**
 * A table that can be wider than a phone. Without rows, `empty` says what to do next.
 * @param {string} caption @param {readonly Head[]} head @param {readonly unknown[]} rows @param {unknown} empty
 */
export function tableOf(caption, head, rows, empty) {
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`;
  return html`<div class="wide" role="region" aria-label="${caption}" tabindex="0"><table><caption class="unseen">${caption}</caption><thead><tr>${head.map(headCell)}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** A list of sentences that operations say. @param {Speech} reader @param {readonly string[]} sentences */
export function saidList({ inEnglish }, sentences) {
  if (sentences.length === 0) return html``;
  return html`<ul class="notes">${sentences.map((text) => html`<li>${inEnglish(text)}</li>`)}</ul>`;
}

/** A way to a record, where the reader has one. @param {string | null} path @param {unknown} content */
export function linked(path, content) {
  return path === null ? content : html`<a href="${path}">${content}</a>`;
}

/** The share of a whole, in percent. @param {number} value @param {number} whole */
export function percent(value, whole) {
  return whole === 0 ? "0.0" : ((100 * value) / whole).toFixed(1);
}

/**
 * A bar a row. The number stands beside it, so that nobody has to measure.
 * @param {Speech} reader
 * @param {{ caption: string, counts: readonly (readonly [string, number, unknown?])[], whole: number, head?: unknown }} drawn
 */
export function bars({ words, count, headingOf }, { caption, counts, whole, head }) {
  const rows = counts.map(([name, value, label]) => {
    const share = percent(value, whole);
    return html`<tr><th scope="row">${label ?? headingOf(name)}</th><td class="number">${count(value)}</td><td class="number share">${share} %</td><td class="bar-cell">${barOf(value, whole, name)}</td></tr>`;
  });
  const heads = [
    head ?? words.general.group,
    numbers(words.general.count),
    numbers(words.general.share),
    words.general.chart,
  ];
  return html`<div class="counts">${tableOf(caption, heads, rows, html`<p>${words.general.nobodyYet}</p>`)}</div>`;
}

/** @param {number} value @param {number} whole @param {string} kind */
export function barOf(value, whole, kind) {
  const width = whole === 0 ? "0" : ((100 * value) / whole).toFixed(2);
  return html`<svg class="bar-of ${kind}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="10"/></svg>`;
}

/** Figures side by side. A name may be a term that explains itself. @param {readonly Tile[]} all */
export function tiles(all) {
  return html`<dl class="figures">${all.map(({ name, value, note }) => html`<div><dt>${name}</dt><dd>${value}${note ? html`<small>${note}</small>` : ""}</dd></div>`)}</dl>`;
}

/** Counts side by side. @param {Speech} reader @param {Readonly<globalThis.Record<string, number>>} counts */
export function figures({ headingOf, count }, counts) {
  return tiles(
    Object.entries(counts).map(([name, value]) => ({ name: headingOf(name), value: count(value) })),
  );
}

/**
 * The parts of a whole in one bar, with a legend. The parts add up to the whole.
 * @param {Speech} reader
 * @param {{ caption: string, parts: readonly (readonly [string, number])[], whole: number }} drawn
 */
export function stacked({ count, headingOf }, { caption, parts, whole }) {
  let left = 0;
  const rects = parts.map(([name, value]) => {
    const width = whole === 0 ? 0 : (1000 * value) / whole;
    const at = left;
    left += width;
    return html`<rect class="of-${name}" x="${at.toFixed(2)}" width="${width.toFixed(2)}" height="20"/>`;
  });
  const legend = parts.map(
    ([name, value]) =>
      html`<div><dt><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="of-${name}" width="10" height="10" rx="2"/></svg>${headingOf(name)}</dt><dd>${count(value)}<small>${percent(value, whole)} %</small></dd></div>`,
  );
  return html`<figure class="stacked"><figcaption class="unseen">${caption}</figcaption><svg viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">${rects}</svg><dl class="legend">${legend}</dl></figure>`;
}

/** Counts by their names, the largest first. @param {Readonly<globalThis.Record<string, number>>} counts */
export function sorted(counts) {
  return Object.entries(counts).sort(([, one], [, other]) => other - one);
}

/** @param {Readonly<globalThis.Record<string, number>>} counts */
export function sumOf(counts) {
  return Object.values(counts).reduce((total, value) => total + value, 0);
}

/** States by what they mean for the person who looks. @type {Readonly<globalThis.Record<string, readonly string[]>>} */
const TONES = {
  good: ["sent", "delivered", "completed", "active", "ready", "yes", "granted", "dynamic", "healthy"],
  busy: ["sending", "queued", "processing", "computing", "pending", "scheduled"],
  wait: ["paused", "later", "deferred", "draft", "waiting", "vip_hold", "inactive"],
  bad: ["failed", "no", "bounced", "cancelled", "refused", "revoked", "denied", "unknown", "banned"],
};
const TONE_OF = new Map(Object.entries(TONES).flatMap(([tone, names]) => names.map((name) => [name, tone])));

/** A state as a label. @param {Speech} reader @param {string} state */
export function chipOf({ labelOf }, state) {
  return html`<span class="chip ${TONE_OF.get(state) ?? "plain"}">${labelOf(state)}</span>`;
}

/** How many lack a consent, by its cause. @param {Speech} reader @param {Readonly<globalThis.Record<string, number>> | null} counts */
export function withoutConsent({ words, count, labelOf, term }, counts) {
  const causes = Object.entries(counts ?? {}).filter(([, value]) => value > 0);
  if (causes.length === 0) return html``;
  const listed = causes.map(([name, value]) => `${count(value)} ${labelOf(name)}`).join(", ");
  return html`<p class="soft">${words.general.withoutConsent(term("consent"), listed)}</p>`;
}

/** The reasons for leaving recipients out, as bars. @param {Speech} reader
 * @param {{ caption: string, counts: Readonly<globalThis.Record<string, number>>, whole: number, channel: unknown, pathOf?(reason: string): string | null }} drawn */
export function reasonBars(reader, { caption, counts, whole, channel, pathOf = () => null }) {
  const { headingOf, reasonOf, words } = reader;
  const rows = sorted(counts).map(
    ([reason, value]) =>
      /** @type {const} */ ([
        reason,
        value,
        html`${linked(pathOf(reason), headingOf(reason))}<p class="soft">${reasonOf(reason, channel)}</p>`,
      ]),
  );
  return bars(reader, { caption, counts: rows, whole, head: words.general.reason });
}
