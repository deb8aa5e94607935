// @ts-check
import { html } from "./html.js";
import { journeyTiles, nodesTable } from "./nodes.js";
import { bars, linked, numbers, sumOf, tableOf } from "./parts.js";

/**
 * @typedef {import("./parts.js").Reader} Reader
 * @typedef {import("#tools/journeys/simulation/answer.ts").SimulatedOutcome} Outcome
 * @typedef {import("./nodes.js").Figures} Figures
 * @typedef {import("./nodes.js").NodeFigures} NodeFigures
 * @typedef {Outcome & { from: string, to: string, barred: number, left_out: number, figures: Figures, nodes: NodeFigures[] }} Simulated
 */

/** The answer of simulate_journey. @param {Simulated} simulated @param {Reader} reader */
export function render(simulated, reader) {
  const { words, counted, time } = reader;
  const { from, to, barred, left_out, figures, nodes, not_sent, deferred } = simulated;
  const asides = [
    ...(barred > 0 ? [words.journeys.mayNotEnter(counted(barred, "player"))] : []),
    ...(left_out > 0 ? [words.journeys.leftOut(counted(left_out, "player"))] : []),
  ];
  return html`<h2>${words.journeys.fromTo(time(from), time(to))}</h2>${journeyTiles(reader, figures)}${asides.map((text) => html`<p class="soft">${text}</p>`)}${days(simulated, reader)}${kept(words.journeys.notSentAndWhy, not_sent, reader)}${kept(words.journeys.sentLaterAndWhy, deferred, reader)}${peaks(simulated, reader)}<h2>${words.journeys.nodes}</h2>${nodesTable(reader, nodes, null)}${costs(simulated, reader)}${ways(simulated, reader)}`;
}

/** @param {Simulated} simulated @param {Reader} reader */
function days({ sends }, reader) {
  const { words, counted } = reader;
  /** @type {Record<string, number>} */
  const byDay = {};
  for (const { day, messages } of sends) byDay[day] = (byDay[day] ?? 0) + messages;
  const rows = Object.entries(byDay).sort(([one], [other]) => one.localeCompare(other));
  const whole = sumOf(byDay);
  if (rows.length === 0)
    return html`<h2>${words.general.messages}</h2><p>${words.journeys.noneWouldGoOut}</p>`;
  const counts = rows.map(([day, value]) => /** @type {const} */ ([day, value, day]));
  return html`<h2>${words.journeys.messagesByDay(counted(whole, "message"))}</h2>${bars(reader, { caption: words.journeys.messagesOfDays, counts, whole, head: words.journeys.day })}`;
}

/** @param {string} heading @param {Simulated["not_sent"]} rows @param {Reader} reader */
function kept(heading, rows, { words, count, headingOf }) {
  if (rows.length === 0) return "";
  const lines = rows.map(
    ({ node, reason, messages }) =>
      html`<tr><th scope="row">${node}</th><td>${headingOf(reason)}</td><td class="number">${count(messages)}</td></tr>`,
  );
  const heads = [words.journeys.node, words.general.reason, numbers(words.general.messages)];
  return html`<h2>${heading}</h2>${tableOf(heading, heads, lines, "")}`;
}

/** @param {Simulated} simulated @param {Reader} reader */
function peaks({ peaks: all, collisions }, { words, counted, headingOf, time, pathOf }) {
  const busiest = all.map(
    ({ channel, at, messages }) =>
      html`<li>${words.journeys.peakOf(headingOf(channel), counted(messages, "message"), time(at))}</li>`,
  );
  const same = collisions.map(
    ({ campaign_id, name, at, people }) =>
      html`<li>${linked(pathOf("campaign", campaign_id), name)} ${words.journeys.goesToSameDay(counted(people, "player"), time(at))}</li>`,
  );
  return html`${busiest.length > 0 ? html`<h2>${words.journeys.busiestTimes}</h2><ul>${busiest}</ul>` : ""}${same.length > 0 ? html`<h2>${words.journeys.campaignsOnSameDays}</h2><ul>${same}</ul>` : ""}`;
}

/** @param {Simulated} simulated @param {Reader} reader */
function costs({ cost }, { words, money }) {
  const rows = cost.flatMap(({ node, amount, currency }) =>
    amount === null || currency === null
      ? []
      : [html`<tr><th scope="row">${node}</th><td class="number">${money(amount, currency)}</td></tr>`],
  );
  if (rows.length === 0) return "";
  const heads = [words.journeys.node, numbers(words.report.cost)];
  return html`<h2>${words.report.cost}</h2>${tableOf(words.report.cost, heads, rows, "")}`;
}

/** @param {Simulated} simulated @param {Reader} reader */
function ways({ timelines }, { words, counted, labelOf, time }) {
  if (timelines.length === 0) return "";
  return html`<h2>${words.journeys.threePlayersStepByStep}</h2>${timelines.map(
    ({ player_id, status, steps }) =>
      html`<details><summary>${player_id}: ${labelOf(status)}, ${counted(steps.length, "step")}</summary><ol>${steps.map(({ node, at }) => html`<li>${node}, ${time(at)}</li>`)}</ol></details>`,
  )}`;
}
