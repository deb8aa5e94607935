import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, numbers, tableOf } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { chip, shown } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/journeys";

/** All journeys, newest first. */
export async function journeysPage(desk: Desk): Promise<Response> {
  const { c, property, canWrite } = desk;
  const { rows, next } = await desk.list("journeys", {
    order: "created_at.desc,id.desc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const empty = html`<p>There is no journey yet. A journey writes to each player at their own time: after signing up, before a birthday, after staying away.</p>${canWrite ? html`<p><a class="button" href="${PART}/new">Choose the first one</a></p>` : ""}`;
  const head = ["Journey", "Status", "Why", numbers("Version"), "Published"];
  return consolePage(desk, {
    part: PART,
    heading: "Journeys",
    actions: canWrite ? html`<a class="button" href="${PART}/new">New journey</a>` : "",
    content: html`<div class="live" id="live" data-live="/console/live?list=journeys">${tableOf("Journeys", head, rows.map(rowOf(property.timezone)), empty)}${onward(c, next)}</div>`,
  });
}

function rowOf(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.status))}</td><td>${shown(row.status_reason, timezone)}</td><td class="number">${shown(row.current_version, timezone)}</td><td>${shown(row.published_at, timezone)}</td></tr>`;
}
