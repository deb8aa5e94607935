// @ts-check
import { html } from "./html.js";
import { linked, numbers, percent, tableOf, tiles } from "./parts.js";

/**
 * @typedef {import("./parts.js").Reader} Reader
 * @typedef {import("#tools/journeys/report/figures.ts").Figures} Figures
 * @typedef {import("#tools/journeys/report/figures.ts").NodeFigures} NodeFigures
 */

/** The players of a journey, real or simulated ones. @param {Reader} reader @param {Figures} figures */
export function journeyTiles({ words, count, counted }, figures) {
  const { entered } = figures;
  /** @param {string} name @param {number} value */
  const figure = (name, value) => ({
    name,
    value: count(value),
    note: entered === 0 ? "" : words.journeys.ofEntries(percent(value, entered)),
  });
  return tiles([
    { name: words.general.entered, value: count(entered), note: counted(figures.people, "person") },
    figure(words.journeys.insideNow, figures.inside),
    figure(words.journeys.reachedTheGoal, figures.goal_reached),
    figure(words.journeys.completed, figures.completed),
    figure(words.journeys.leftBefore, figures.exited),
    figure(words.journeys.failed, figures.failed),
  ]);
}

/** The nodes with the players who came, went and stand there. Those of a journey with an id lead to the players.
 * @param {Reader} reader @param {readonly NodeFigures[]} nodes @param {string | null} journeyId */
export function nodesTable({ words, count, headingOf, pathOf }, nodes, journeyId) {
  const hasMessages = nodes.some(({ campaign_id: id }) => id !== null && pathOf("campaign", id) !== null);
  const rows = nodes.map(({ node, type, entered, left, here, campaign_id: campaign }) => {
    const path = campaign && pathOf("campaign", campaign);
    const messages = hasMessages
      ? html`<td>${path ? linked(path, words.journeys.itsMessages) : ""}</td>`
      : "";
    return html`<tr><th scope="row">${linked(journeyId && pathOf("node", journeyId, node), node)}</th><td>${headingOf(type)}</td><td class="number">${count(entered)}</td><td class="number">${count(left)}</td><td class="number">${count(here)}</td>${messages}</tr>`;
  });
  const heads = [
    words.journeys.node,
    words.journeys.kind,
    numbers(words.journeys.came),
    numbers(words.journeys.went),
    numbers(words.journeys.here),
    ...(hasMessages ? [words.journeys.figures] : []),
  ];
  return tableOf(words.journeys.nodes, heads, rows, "");
}
