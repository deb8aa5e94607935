import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, numbers, tableOf } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { chip, shown } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/segments";

/** All segments, by name. */
export async function segmentsPage(desk: Desk): Promise<Response> {
  const { c, property, canWrite } = desk;
  const { rows, next } = await desk.list("segments", {
    order: "name.asc,id.asc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const empty = html`<p>There is no segment yet. A segment is a saved audience, such as Gold players who have not come for 60 days.</p>${canWrite ? html`<p><a class="button" href="${PART}/new">Build the first segment</a></p>` : ""}`;
  const head = ["Segment", "Type", numbers("Players"), "Counted", "State"];
  const table = tableOf("Segments", head, rows.map(rowOf(property.timezone)), empty);
  return consolePage(desk, {
    part: PART,
    heading: "Segments",
    actions: canWrite ? html`<a class="button" href="${PART}/new">New segment</a>` : "",
    content: html`<div id="live" class="live" data-live="/console/live?list=segments">${table}${onward(c, next)}</div>`,
  });
}

function rowOf(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.type))}</td><td class="number">${shown(row.member_count, timezone)}</td><td>${shown(row.last_computed_at, timezone)}</td><td>${chip(String(row.state))}</td></tr>`;
}
