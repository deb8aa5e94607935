import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, firstStep } from "#transports/console/frame.ts";
import { byName, nameSearch, noneNamed, onward } from "#transports/console/paging.ts";
import { chip, shown } from "#transports/console/values.ts";
import { numbers, tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/segments";

/** All segments, by name. */
export async function segmentsPage(desk: Desk): Promise<Response> {
  const { c, property, canWrite } = desk;
  const wanted = (c.req.query("q") ?? "").trim();
  const { rows, next } = await desk.list("segments", {
    filters: byName(wanted),
    order: "name.asc,id.asc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const empty =
    wanted !== ""
      ? noneNamed(PART, wanted)
      : html`<p>${say().segments.thereNoSegmentYetSegment}</p>${firstStep(desk, `${PART}/new`, say().segments.buildTheFirstSegment)}`;
  const head = [
    say().general.segment,
    say().segments.type,
    numbers(say().general.players),
    say().segments.counted,
    say().general.state,
  ];
  const table = tableOf(say().segments.segments, head, rows.map(rowOf(property.timezone)), empty);
  return consolePage(desk, {
    part: PART,
    heading: say().segments.segments,
    actions: canWrite ? html`<a class="button" href="${PART}/new">${say().segments.newSegment}</a>` : "",
    content: html`${nameSearch(PART, wanted)}<div id="live" class="live" data-live="/console/live?list=segments">${table}${onward(c, next)}</div>`,
  });
}

function rowOf(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.type))}</td><td class="number">${shown(row.member_count, timezone)}</td><td>${shown(row.last_computed_at, timezone)}</td><td>${chip(String(row.state))}</td></tr>`;
}
