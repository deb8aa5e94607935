import { html } from "hono/html";
import { toFault } from "#runtime/faults.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { input, type Option, select } from "#transports/console/fields.ts";
import { consolePage, faultText, firstStep } from "#transports/console/frame.ts";
import { readerOf } from "#transports/console/reader.ts";
import { term } from "#transports/console/terms.ts";
import { render, type Simulated } from "#transports/console/views/simulate_journey.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";
import type { PlacedNode } from "./node-words.ts";

/** Lets the players of a segment walk through a journey's draft, and shows what would happen. */
export async function simulatePage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const [journey, { rows: segments }] = await Promise.all([
    desk.run("get_journey", { id }),
    desk.list("segments", { select: "id,name,member_count", order: "name.asc", limit: 200 }),
  ]);
  const query = desk.c.req.query();
  const values = { segment: query.segment ?? ownSegment(journey), days: query.days ?? "30" };
  const options = segments.map((one): Option => [String(one.id), String(one.name)]);
  const form = html`<form class="form narrow" method="get">${select({ values }, { name: "segment", label: say().journeys.playersOfTheSegment, options, hint: say().journeys.atMostItsFirst10000 })}${input({ values }, { name: "days", label: say().general.days, type: "number", hint: say().journeys.howLongClockRunsAt })}<div class="acts"><button>${say().journeys.simulate}</button></div></form>`;
  const none = html`<div class="empty"><p>${say().journeys.simulationNeedsPlayersSegment}</p>${firstStep(desk, "/console/segments/new", say().journeys.buildASegmentFirst)}</div>`;
  const result = query.segment
    ? await resultOf(desk, { id, segment: query.segment, days: Number(values.days) })
    : "";
  return consolePage(desk, {
    part: PART,
    above: { path: `${PART}/${id}`, name: String(journey.name) },
    heading: say().journeys.simulate,
    content: html`<p>${say().journeys.simulationIntro(term("gate"))}</p>${segments.length === 0 ? none : form}${result}`,
  });
}

/** The segment by which players enter the journey. */
function ownSegment({ draft_definition }: Row): string {
  const { nodes } = draft_definition as { nodes: PlacedNode[] };
  const trigger = nodes.find(({ type, config }) => type === "trigger" && config.segment_id);
  return String(trigger?.config.segment_id ?? "");
}

async function resultOf(
  desk: Desk,
  { id, segment, days }: { id: string; segment: string; days: number },
): Promise<Html> {
  try {
    const input = { journeyId: id, segmentId: segment, days };
    const simulated = await desk.run<Simulated>("simulate_journey", input);
    return html`<div id="simulated" role="status">${render(simulated, readerOf(desk))}</div>`;
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw fault;
    return faultText(fault);
  }
}
