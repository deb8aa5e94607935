import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { chip, labelOf, timeOf, withTimes } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";
import { PART } from "./list.ts";

interface Explained {
  enrollment: Row;
  why: string;
  until: string | null;
  next: { label: string; to: string | null }[];
  path: { node: string; type: string | null; at: string }[];
}

/** One player in a journey: why there, until when, and what comes then. */
export async function enrollmentPage(desk: Desk): Promise<Response> {
  const { timezone } = desk.property;
  const enrollmentId = desk.c.req.param("enrollment");
  const { enrollment, why, until, next, path } = await desk.run<Explained>("explain_enrollment", {
    enrollmentId,
  });
  const { journey_id, player_id, status } = enrollment;
  const journey = await desk.run("get_journey", { id: journey_id });
  const ways = next.map(
    ({ label, to }) =>
      html`<li>${label}: ${to === null ? say().journeys.theJourneyEnds : html`<a href="${PART}/${journey_id}/nodes/${encodeURIComponent(to)}">${to}</a>`}</li>`,
  );
  const player = player_id
    ? html`<p><a href="/console/players/${player_id}">${say().general.thePlayer}</a></p>`
    : html`<p>${say().journeys.thePlayerIsErased}</p>`;
  return consolePage(desk, {
    part: PART,
    above: { path: `${PART}/${journey_id}`, name: String(journey.name) },
    heading: say().journeys.playerInThisJourney,
    states: chip(String(status)),
    content: html`${player}<h2>${say().general.why}</h2><p>${withTimes(why, timezone)}</p>${until === null ? "" : html`<p>${say().journeys.atTheLatest(timeOf(until, timezone))}</p>`}${ways.length > 0 ? html`<h2>${say().journeys.whatComesThen}</h2><ul>${ways}</ul>` : ""}<h2>${say().journeys.theWaySoFar}</h2><ol>${path.map(({ node, type, at }) => html`<li>${node}${type === null ? "" : html` <span class="soft">${labelOf(type)}</span>`}, ${timeOf(at, timezone)}</li>`)}</ol>`,
  });
}
