// @ts-check
import { html } from "./html.js";
import { chipOf, linked, numbers, tableOf } from "./parts.js";

/**
 * @typedef {import("./parts.js").Reader} Reader
 * @typedef {{ id: string, player_id: string, first_name: string | null, last_name: string | null, tier: string | null, adt: number | null, status: string }} Player
 * @typedef {{ count: number, sample: Player[], warnings: string[] }} Preview
 */

/** The answer of segment_preview: the count of now, and ten players who match.
 * @param {Preview} preview @param {Reader} reader */
export function render({ count: players, sample, warnings }, reader) {
  const { words, count, inEnglish, term, pathOf } = reader;
  const rows = sample.map(
    (one) =>
      html`<tr><th scope="row">${linked(pathOf("player", one.id), one.player_id)}</th><td>${[one.first_name, one.last_name].filter(Boolean).join(" ")}</td><td>${one.tier}</td><td class="number">${one.adt === null ? "" : count(one.adt)}</td><td>${chipOf(reader, one.status)}</td></tr>`,
  );
  const heads = [
    words.general.player,
    words.general.name,
    words.general.tier,
    numbers(term("adt")),
    words.general.status,
  ];
  const notes = warnings.map((text) => html`<p class="note">${inEnglish(text)}</p>`);
  return html`<p class="big">${count(players)}</p><p class="soft">${words.segments.playersMatchNow}</p>${notes}${tableOf(words.segments.tenOfThem, heads, rows, html`<p>${words.segments.nobodyMatches} ${linked(pathOf("guide", "segments"), words.segments.theGuideToRules)}</p>`)}`;
}
