import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, firstStep } from "#transports/console/frame.ts";
import { byName, filtersOf, nameSearch, noneNamed, onward } from "#transports/console/paging.ts";
import { chip, labelOf, shown } from "#transports/console/values.ts";
import { numbers, tableOf } from "#transports/console/views/parts.js";
import { count, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

const PART = "/console/campaigns";
const SHOWN = "id,name,subject,tags,channel,status,scheduled_at,started_at,audience_count,stats,created_at";
const STATES = ["draft", "scheduled", "sending", "paused", "sent", "failed"] as const;

/** All campaigns, newest first, or those in one state. */
export async function campaignsPage(desk: Desk): Promise<Response> {
  const { status = "", q = "" } = desk.c.req.query();
  const wanted = q.trim();
  const { rows, next } = await desk.list("campaigns", {
    filters: { ...(status !== "" && { "status.eq": status }), ...byName(wanted) },
    select: SHOWN,
    order: "created_at.desc,id.desc",
    limit: 50,
    cursor: desk.c.req.query("cursor") ?? "",
  });
  const { timezone } = desk.property;
  const head = [
    say().general.campaign,
    say().general.channel,
    say().general.status,
    say().general.starts,
    numbers(say().report.audience),
    numbers(say().report.sent),
    numbers(say().report.opened),
    numbers(say().report.clicked),
  ];
  const empty = wanted === "" ? emptyOf(desk, status) : noneNamed(PART, wanted);
  const list = tableOf(say().campaigns.campaigns, head, rows.map(rowOf(timezone)), empty);
  const content = html`${nameSearch(PART, wanted, { status })}${filtersOf(PART, "status", status, STATES)}<div id="live" class="live" data-live="/console/live?list=campaigns">${list}${onward(desk.c, next)}</div>${rows.length > 0 ? html`<p class="soft">${say().campaigns.figuresOfLastCount}</p>` : ""}`;
  const actions = desk.canWrite
    ? html`<a class="button" href="${PART}/new">${say().campaigns.newCampaign}</a>`
    : "";
  return consolePage(desk, { part: PART, heading: say().campaigns.campaigns, content, actions });
}

function rowOf(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a>${row.subject ? html`<p class="soft">${row.subject}</p>` : ""}${(row.tags as string[]).map((tag) => html`<span class="chip plain">${tag}</span> `)}</th><td>${chip(String(row.channel))}</td><td>${chip(String(row.status))}</td><td>${shown(row.scheduled_at ?? row.started_at, timezone)}</td>${figuresOf(row)}</tr>`;
}

/** The figures of the last count. Before the first one there are none. */
function figuresOf({ audience_count, stats, channel }: Row): Html {
  const { sent = 0, delivered = 0, opens_human, clicks_human } = stats as Record<string, number | undefined>;
  const isCounted = opens_human !== undefined;
  const cell = (value: number | undefined) =>
    html`<td class="number">${isCounted && value !== undefined ? count(value) : ""}</td>`;
  const isRead = channel !== "voice" && channel !== "sms";
  return html`<td class="number">${Number(audience_count) > 0 ? count(Number(audience_count)) : ""}</td>${cell(sent + delivered)}${cell(isRead ? opens_human : undefined)}${cell(isRead ? clicks_human : undefined)}`;
}

function emptyOf(desk: Desk, status: string): Html {
  if (status !== "")
    return html`<p>${say().campaigns.noCampaignIs(labelOf(status))} <a href="${PART}">${say().general.seeAllCampaigns}</a></p>`;
  return html`<p>${say().campaigns.thereNoCampaignYetCampaign}</p>${firstStep(desk, `${PART}/new`, say().campaigns.makeTheFirstCampaign)}`;
}
