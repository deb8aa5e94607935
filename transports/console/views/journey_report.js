// @ts-check
import { html } from "./html.js";
import { journeyTiles, nodesTable } from "./nodes.js";
import { bars, sorted, sumOf } from "./parts.js";

/**
 * @typedef {import("./parts.js").Reader} Reader
 * @typedef {import("#tools/journeys/report/figures.ts").Figures} Figures
 * @typedef {import("#tools/journeys/report/figures.ts").NodeFigures} NodeFigures
 * @typedef {{ journey_id: string, version: number, overdue: number, figures: Figures, nodes: NodeFigures[] }} Report
 */

/** The answer of journey_report: the figures of a version, of all its nodes, and why players left.
 * @param {Report} report @param {Reader} reader */
export function render({ journey_id: id, version, overdue, figures, nodes }, reader) {
  const { words, counted } = reader;
  const late =
    overdue > 0
      ? html`<div class="wrong" role="alert"><p>${words.journeys.moreThanAMinuteLate(counted(overdue, "player"))}</p></div>`
      : "";
  return html`${late}${journeyTiles(reader, figures)}<h2>${words.journeys.nodesOfVersion(version)}</h2>${nodesTable(reader, nodes, id)}${leavers(figures, reader)}`;
}

/** @param {Figures} figures @param {Reader} reader */
function leavers({ reasons }, reader) {
  const left = sorted(reasons);
  if (left.length === 0) return "";
  const { words } = reader;
  const drawn = {
    caption: words.journeys.reasons,
    counts: left,
    whole: sumOf(reasons),
    head: words.general.reason,
  };
  return html`<h2>${words.journeys.whyEndedForPlayers}</h2>${bars(reader, drawn)}`;
}
