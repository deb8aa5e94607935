import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { chip, timeOf, withTimes } from "#transports/console/values.ts";
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
      html`<li>${label}: ${to === null ? "the journey ends" : html`<a href="${PART}/${journey_id}/nodes/${encodeURIComponent(to)}">${to}</a>`}</li>`,
  );
  const player = player_id
    ? html`<p><a href="/console/players/${player_id}">The player</a></p>`
    : html`<p>The player is erased.</p>`;
  return consolePage(desk, {
    part: PART,
    above: { path: `${PART}/${journey_id}`, name: String(journey.name) },
    heading: "A player in this journey",
    states: chip(String(status)),
    content: html`${player}<h2>Why</h2><p>${withTimes(why, timezone)}</p>${until === null ? "" : html`<p>At the latest until ${timeOf(until, timezone)}.</p>`}${ways.length > 0 ? html`<h2>What comes then</h2><ul>${ways}</ul>` : ""}<h2>The way so far</h2><ol>${path.map(({ node, type, at }) => html`<li>${node}${type === null ? "" : html` <span class="soft">${type.replaceAll("_", " ")}</span>`}, ${timeOf(at, timezone)}</li>`)}</ol>`,
  });
}
