import { html } from "hono/html";
import { toFault } from "#runtime/faults.ts";
import { bars } from "#transports/console/bars.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { input, type Option, select } from "#transports/console/fields.ts";
import { consolePage, faultText, firstStep, numbers, tableOf } from "#transports/console/frame.ts";
import { term } from "#transports/console/terms.ts";
import { labelOf, timeOf, words } from "#transports/console/values.ts";
import { count, counted, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";
import type { PlacedNode } from "./node-words.ts";
import { type Figures, figuresOf, type NodeRow, nodesTable } from "./report.ts";

interface Simulated {
  from: string;
  to: string;
  entered: number;
  barred: number;
  left_out: number;
  figures: Figures;
  nodes: NodeRow[];
  sends: { day: string; node: string; channel: string; messages: number }[];
  not_sent: { node: string; reason: string; messages: number }[];
  deferred: { node: string; reason: string; messages: number }[];
  peaks: { channel: string; at: string; messages: number; a_minute: number }[];
  collisions: { campaign_id: string; name: string; at: string; people: number }[];
  timelines: { player_id: string; status: string; steps: { node: string; at: string }[] }[];
}

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
    return shownResult(desk, await desk.run<Simulated>("simulate_journey", input));
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw fault;
    return faultText(fault);
  }
}

function shownResult(desk: Desk, simulated: Simulated): Html {
  const { timezone } = desk.property;
  const { from, to, barred, left_out, figures, nodes, not_sent, deferred } = simulated;
  const asides = [
    ...(barred > 0 ? [say().journeys.mayNotEnter(counted(barred, "player"))] : []),
    ...(left_out > 0 ? [say().journeys.leftOut(counted(left_out, "player"))] : []),
  ];
  return html`<div id="simulated" role="status"><h2>${say().journeys.fromTo(timeOf(from, timezone), timeOf(to, timezone))}</h2>${figuresOf(figures)}${asides.map((text) => html`<p class="soft">${text}</p>`)}${days(simulated)}${kept(say().journeys.notSentAndWhy, not_sent)}${kept(say().journeys.sentLaterAndWhy, deferred)}${peaks(simulated, timezone)}<h2>${say().journeys.nodes}</h2>${nodesTable(nodes, null)}${ways(simulated, timezone)}</div>`;
}

function days({ sends }: Simulated): Html {
  const byDay = new Map<string, number>();
  for (const { day, messages } of sends) byDay.set(day, (byDay.get(day) ?? 0) + messages);
  const rows = [...byDay].sort(([one], [other]) => one.localeCompare(other));
  const most = Math.max(1, ...rows.map(([, value]) => value));
  const all = rows.reduce((total, [, value]) => total + value, 0);
  if (rows.length === 0)
    return html`<h2>${say().general.messages}</h2><p>${say().journeys.noneWouldGoOut}</p>`;
  return html`<h2>${say().journeys.messagesByDay(counted(all, "message"))}</h2>${bars(
    say().journeys.messagesOfDays,
    rows.map(([day, value]) => [day, value, day] as const),
    Math.max(most, all),
    say().journeys.day,
  )}`;
}

function kept(heading: string, rows: Simulated["not_sent"]): Html | "" {
  if (rows.length === 0) return "";
  const lines = rows.map(
    ({ node, reason, messages }) =>
      html`<tr><th scope="row">${node}</th><td>${words(reason)}</td><td class="number">${count(messages)}</td></tr>`,
  );
  return html`<h2>${heading}</h2>${tableOf(heading, [say().journeys.node, say().general.reason, numbers(say().general.messages)], lines, html``)}`;
}

function peaks({ peaks: all, collisions }: Simulated, timezone: string): Html {
  const busiest = all.map(
    ({ channel, at, messages }) =>
      html`<li>${say().journeys.peakOf(words(channel), counted(messages, "message"), timeOf(at, timezone))}</li>`,
  );
  const same = collisions.map(
    ({ campaign_id, name, at, people }) =>
      html`<li><a href="/console/campaigns/${campaign_id}">${name}</a> ${say().journeys.goesToSameDay(counted(people, "player"), timeOf(at, timezone))}</li>`,
  );
  return html`${busiest.length > 0 ? html`<h2>${say().journeys.busiestTimes}</h2><ul>${busiest}</ul>` : ""}${same.length > 0 ? html`<h2>${say().journeys.campaignsOnSameDays}</h2><ul>${same}</ul>` : ""}`;
}

function ways({ timelines }: Simulated, timezone: string): Html | "" {
  if (timelines.length === 0) return "";
  return html`<h2>${say().journeys.threePlayersStepByStep}</h2>${timelines.map(
    ({ player_id, status, steps }) =>
      html`<details><summary>${player_id}: ${labelOf(status)}, ${counted(steps.length, "step")}</summary><ol>${steps.map(({ node, at }) => html`<li>${node}, ${timeOf(at, timezone)}</li>`)}</ol></details>`,
  )}`;
}
