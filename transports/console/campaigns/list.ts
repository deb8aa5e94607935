import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, tableOf } from "#transports/console/frame.ts";
import { filtersOf, onward } from "#transports/console/paging.ts";
import { chip, labelOf, shown, timeOf } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

const PART = "/console/campaigns";
const STATES = ["draft", "scheduled", "sending", "paused", "sent", "failed"] as const;

/** All campaigns, newest first, or those in one state. */
export async function campaignsPage(desk: Desk): Promise<Response> {
  const status = desk.c.req.query("status") ?? "";
  const { rows, next } = await desk.list("campaigns", {
    filters: status === "" ? {} : { "status.eq": status },
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
    say().general.made,
  ];
  const list = tableOf(say().campaigns.campaigns, head, rows.map(rowOf(timezone)), emptyOf(desk, status));
  const content = html`${filtersOf(PART, "status", status, STATES)}<div id="live" class="live" data-live="/console/live?list=campaigns">${list}${onward(desk.c, next)}</div>`;
  const actions = desk.canWrite
    ? html`<a class="button" href="${PART}/new">${say().campaigns.newCampaign}</a>`
    : "";
  return consolePage(desk, { part: PART, heading: say().campaigns.campaigns, content, actions });
}

function rowOf(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.status))}</td><td>${shown(row.scheduled_at, timezone)}</td><td>${timeOf(String(row.created_at), timezone)}</td></tr>`;
}

function emptyOf(desk: Desk, status: string): Html {
  if (status !== "")
    return html`<p>${say().campaigns.noCampaignIs(labelOf(status))} <a href="${PART}">${say().general.seeAllCampaigns}</a></p>`;
  return html`<p>${say().campaigns.thereNoCampaignYetCampaign}</p>${desk.canWrite ? html`<p><a class="button" href="${PART}/new">${say().campaigns.makeTheFirstCampaign}</a></p>` : html`<p>${say().campaigns.managerMakesFirstOne}</p>`}`;
}
