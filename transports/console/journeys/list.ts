import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, firstStep } from "#transports/console/frame.ts";
import { byName, nameSearch, noneNamed, onward } from "#transports/console/paging.ts";
import { chip, shown, statusReason } from "#transports/console/values.ts";
import { numbers, tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/journeys";

/** All journeys, newest first. */
export async function journeysPage(desk: Desk): Promise<Response> {
  const { c, property, canWrite } = desk;
  const wanted = (c.req.query("q") ?? "").trim();
  const { rows, next } = await desk.list("journeys", {
    filters: byName(wanted),
    order: "created_at.desc,id.desc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const empty =
    wanted !== ""
      ? noneNamed(PART, wanted)
      : html`<p>${say().journeys.thereNoJourneyYetJourney}</p>${firstStep(desk, `${PART}/new`, say().journeys.chooseTheFirstOne)}`;
  const head = [
    say().general.journey,
    say().general.status,
    say().general.why,
    numbers(say().general.version),
    say().journeys.published,
  ];
  return consolePage(desk, {
    part: PART,
    heading: say().general.journeys,
    actions: canWrite ? html`<a class="button" href="${PART}/new">${say().journeys.newJourney}</a>` : "",
    content: html`${nameSearch(PART, wanted)}<div class="live" id="live" data-live="/console/live?list=journeys">${tableOf(say().general.journeys, head, rows.map(rowOf(property.timezone)), empty)}${onward(c, next)}</div>`,
  });
}

function rowOf(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.status))}</td><td>${statusReason(row)}</td><td class="number">${shown(row.current_version, timezone)}</td><td>${shown(row.published_at, timezone)}</td></tr>`;
}
