import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage, tableOf } from "#transports/console/frame.ts";
import { count, timeOf } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";

interface Hour {
  at: string;
  messages: number;
  opened: number;
  clicked: number;
}

/** What is counted by the hour, by its names. */
type Series = readonly (readonly [name: "messages" | "opened" | "clicked", words: string])[];

const OF_MESSAGES: Series = [
  ["messages", "Messages"],
  ["opened", "First opens by people"],
  ["clicked", "First clicks by people"],
];
const OF_CALLS: Series = [["messages", "Calls"]];

const HOUR_MS = 3_600_000;
const HEIGHT = 100;

/** A campaign's messages, opens and clicks by the hour. */
export async function hoursPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const [campaign, { hours }] = await Promise.all([
    desk.run("get_campaign", { id }),
    desk.run<{ hours: Hour[] }>("campaign_hours", { campaignId: id }),
  ]);
  const part = "/console/campaigns";
  const { timezone } = desk.property;
  const series = campaign.channel === "voice" ? OF_CALLS : OF_MESSAGES;
  const content = html`<div id="hours">${hours.length === 0 ? html`<div class="empty"><p>Nothing has gone out yet.</p></div>` : html`${chart(hours, series, timezone)}${table(hours, series, timezone)}`}</div>`;
  return consolePage(desk, {
    part,
    above: { path: `${part}/${id}`, name: String(campaign.name) },
    heading: "Hour by hour",
    content,
  });
}

/** Columns side by side, an hour each, and the numbers in the table beneath. */
function chart(hours: readonly Hour[], series: Series, timezone: string): Html {
  const first = Date.parse(hours[0]!.at);
  const last = Date.parse(hours.at(-1)!.at);
  const slots = Math.max(6, Math.round((last - first) / HOUR_MS) + 1);
  const most = Math.max(1, ...hours.flatMap((hour) => series.map(([name]) => hour[name])));
  const width = 1000 / slots;
  const bars = hours.flatMap((hour) => {
    const x = ((Date.parse(hour.at) - first) / HOUR_MS) * width;
    return series.map(([name], index) => {
      const height = (HEIGHT * hour[name]) / most;
      const at = x + width * (0.1 + index * 0.27);
      return html`<rect class="of-${name}" x="${at.toFixed(2)}" y="${(HEIGHT - height).toFixed(2)}" width="${(width * 0.25).toFixed(2)}" height="${height.toFixed(2)}"/>`;
    });
  });
  const lines = [0, 0.5, 1].map(
    (share) => html`<line class="grid" x1="0" x2="1000" y1="${HEIGHT * share}" y2="${HEIGHT * share}"/>`,
  );
  const legend = series.map(
    ([name, words]) =>
      html`<div><dt><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="of-${name}" width="10" height="10" rx="2"/></svg>${words}</dt><dd>${count(hours.reduce((total, hour) => total + hour[name], 0))}</dd></div>`,
  );
  return html`<figure class="hours"><dl class="legend">${legend}</dl><p class="soft">Highest: ${count(most)} an hour</p><svg class="chart" viewBox="0 0 1000 ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${lines}${bars}</svg><p class="axis"><span>${timeOf(hours[0]!.at, timezone)}</span><span>${timeOf(new Date(first + (slots - 1) * HOUR_MS).toISOString(), timezone)}</span></p></figure>`;
}

function table(hours: readonly Hour[], series: Series, timezone: string): Html {
  const rows = hours.map(
    (hour) =>
      html`<tr><th scope="row">${timeOf(hour.at, timezone)}</th>${series.map(([name]) => html`<td class="number">${count(hour[name])}</td>`)}</tr>`,
  );
  return html`<details><summary>The same as a table</summary>${tableOf("Hour by hour", ["Hour", ...series.map(([, words]) => words)], rows, html``)}</details>`;
}
