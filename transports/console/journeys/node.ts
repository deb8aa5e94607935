import { html } from "hono/html";
import { Fault } from "#runtime/faults.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { chip, labelOf, shown, timeOf } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";
import { nodeWords, type PlacedNode } from "./node-words.ts";

/** The players at one node: for what they wait, and until when. */
export async function nodePage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const { id, node } = c.req.param() as { id: string; node: string };
  const [journey, { rows, next }] = await Promise.all([
    desk.run("get_journey", { id }),
    desk.list("journey_enrollments", {
      filters: { "journey_id.eq": id, "current_node_id.eq": node, "status.eq": "active" },
      order: "arrived_at.asc,id.asc",
      limit: 50,
      cursor: c.req.query("cursor") ?? "",
    }),
  ]);
  const { nodes } = journey.draft_definition as { nodes: PlacedNode[] };
  const placed = nodes.find((one) => one.id === node);
  if (!placed && rows.length === 0) throw new Fault("not_found");
  const lines = rows.map(rowOf(id, property.timezone));
  const head = [
    say().general.player,
    say().journeys.phase,
    say().journeys.hereSince,
    say().journeys.until,
    say().general.why,
  ];
  const content = html`${placed ? html`<p>${nodeWords(placed)}</p>` : ""}<div class="live" id="live" data-live="/console/live?journey=${id}">${tableOf(say().journeys.playersHere, head, lines, html`<p>${say().journeys.nobodyHereNowPlayersCome} <a href="${PART}/${id}">${say().journeys.seeTheJourney}</a></p>`)}${onward(c, next)}</div>`;
  const above = { path: `${PART}/${id}`, name: String(journey.name) };
  return consolePage(desk, { part: PART, above, heading: say().journeys.atNode(node), content });
}

function rowOf(journey: string, timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row">${row.player_id ? html`<a href="/console/players/${row.player_id}">${row.player_id}</a>` : labelOf("erased")}</th><td>${chip(String(row.phase))}</td><td>${timeOf(String(row.arrived_at), timezone)}</td><td>${shown(row.wake_at, timezone)}</td><td><a href="${PART}/${journey}/enrollments/${row.id}" aria-label="${say().general.why}: ${say().journeys.whyHere(String(row.player_id ?? say().journeys.thisPlayer))}">${say().general.why}</a></td></tr>`;
}
