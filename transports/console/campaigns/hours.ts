import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { timeOf } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { count, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

interface Hour {
  at: string;
  messages: number;
  opened: number;
  clicked: number;
}

type Series = readonly ("messages" | "opened" | "clicked")[];

/** Nobody tells of the opening of a text or a call. */
const seriesOf = (channel: unknown): Series =>
  channel === "sms" || channel === "voice" ? ["messages"] : ["messages", "opened", "clicked"];

const HOUR_MS = 3_600_000;
const HEIGHT = 100;

/** A campaign's messages, opens and clicks by the hour. */
export async function hoursPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const [campaign, { as_of, hours }] = await Promise.all([
    desk.run("get_campaign", { id }),
    desk.run<{ as_of: string; hours: Hour[] }>("campaign_hours", { campaignId: id }),
  ]);
  const part = "/console/campaigns";
  const { timezone } = desk.property;
  const shown = { series: seriesOf(campaign.channel), isCalls: campaign.channel === "voice", timezone };
  const content = html`<div id="hours">${hours.length === 0 ? html`<div class="empty"><p>${say().report.nothingHasGoneOutYet} ${campaign.status === "draft" ? html`<a href="${part}/${id}?check=yes">${say().campaigns.seeWhoGetsAndSend}</a>` : html`<a href="${part}/${id}">${say().campaigns.seeTheCampaign}</a>`}</p></div>` : html`${chart(hours, shown)}${table(hours, shown)}`}<p class="soft">${say().report.countedAt(timeOf(as_of, timezone))}</p></div>`;
  return consolePage(desk, {
    part,
    above: { path: `${part}/${id}`, name: String(campaign.name) },
    heading: say().general.hourByHour,
    content,
  });
}

interface Shown {
  series: Series;
  isCalls: boolean;
  timezone: string;
}

/** Columns side by side, an hour each, and the numbers in the table beneath. */
function chart(hours: readonly Hour[], { series, isCalls, timezone }: Shown): Html {
  const first = Date.parse(hours[0]!.at);
  const last = Date.parse(hours.at(-1)!.at);
  const slots = Math.max(6, Math.round((last - first) / HOUR_MS) + 1);
  const most = Math.max(1, ...hours.flatMap((hour) => series.map((name) => hour[name])));
  const width = 1000 / slots;
  const bars = hours.flatMap((hour) => {
    const x = ((Date.parse(hour.at) - first) / HOUR_MS) * width;
    return series.map((name, index) => {
      const height = (HEIGHT * hour[name]) / most;
      const at = x + width * (0.1 + index * 0.27);
      return html`<rect class="of-${name}" x="${at.toFixed(2)}" y="${(HEIGHT - height).toFixed(2)}" width="${(width * 0.25).toFixed(2)}" height="${height.toFixed(2)}"/>`;
    });
  });
  const lines = [0, 0.5, 1].map(
    (share) => html`<line class="grid" x1="0" x2="1000" y1="${HEIGHT * share}" y2="${HEIGHT * share}"/>`,
  );
  const legend = series.map(
    (name) =>
      html`<div><dt><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="of-${name}" width="10" height="10" rx="2"/></svg>${wordsOf(name, isCalls)}</dt><dd>${count(hours.reduce((total, hour) => total + hour[name], 0))}</dd></div>`,
  );
  return html`<figure class="hours"><dl class="legend">${legend}</dl><p class="soft">${say().report.highest(count(most))}</p><svg class="chart" viewBox="0 0 1000 ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${lines}${bars}</svg><p class="axis"><span>${timeOf(hours[0]!.at, timezone)}</span><span>${timeOf(new Date(first + (slots - 1) * HOUR_MS).toISOString(), timezone)}</span></p></figure>`;
}

function table(hours: readonly Hour[], { series, isCalls, timezone }: Shown): Html {
  const rows = hours.map(
    (hour) =>
      html`<tr><th scope="row">${timeOf(hour.at, timezone)}</th>${series.map((name) => html`<td class="number">${count(hour[name])}</td>`)}</tr>`,
  );
  const heads = series.map((name) => wordsOf(name, isCalls));
  return html`<details><summary>${say().report.sameAsTable}</summary>${tableOf(say().general.hourByHour, [say().report.hour, ...heads], rows, html``)}</details>`;
}

function wordsOf(name: Series[number], isCalls: boolean): string {
  return isCalls ? say().campaigns.calls : say().report.series[name];
}
