import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import { bars, figures } from "./bars.ts";
import type { Desk, Row } from "./desk.ts";
import { consolePage, tableOf, tokenField } from "./frame.ts";
import { onward } from "./paging.ts";
import { redirect } from "./sign-in.ts";
import { chip, shown, timeOf, words } from "./values.ts";

const PART = "/console/journeys";

interface Report {
  version: number;
  overdue: number;
  figures: { reasons: Record<string, number> } & Record<string, number>;
  nodes: {
    node: string;
    type: string;
    entered: number;
    left: number;
    here: number;
    campaign_id: string | null;
  }[];
}

/** All journeys, newest first. */
export async function journeysPage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const { rows, next } = await desk.list("journeys", {
    order: "created_at.desc,id.desc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.status))}</td><td>${shown(row.status_reason, property.timezone)}</td><td>${shown(row.current_version, property.timezone)}</td><td>${shown(row.published_at, property.timezone)}</td></tr>`,
  );
  const empty = html`<p>There is no journey. <a href="/docs/journeys">The guide to journeys</a> makes the first one.</p>`;
  const content = html`<div class="live" id="live" data-live>${tableOf("Journeys", ["Journey", "Status", "Why", "Version", "Published"], lines, empty)}${onward(c, next)}</div>`;
  return consolePage(desk, { part: PART, heading: "Journeys", content });
}

/** One journey: its figures, its picture with the players on each way, and its nodes. */
export async function journeyPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const journey = await desk.run("get_journey", { id });
  const isPublished = journey.current_version !== null;
  const report = isPublished ? await desk.run<Report>("journey_report", { journeyId: id }) : null;
  const why = journey.status_reason ? html` <span class="soft">${journey.status_reason}</span>` : "";
  const content = html`<div class="live" id="live" data-live><p>${chip(String(journey.status))}${why}</p>${act(desk, journey)}${report ? reportOf(journey, report) : html`<p>It is a draft: nobody enters it before publish_journey.</p>`}</div><h2>Picture</h2><div class="wide" role="region" aria-label="Picture" tabindex="0"><img class="drawing" src="${PART}/${id}/picture" alt="The nodes of the journey. The table above has the same figures."></div>`;
  return consolePage(desk, { part: PART, heading: String(journey.name), content });
}

/** The picture of a journey, drawn in the property's colours. */
export async function journeyPicture(desk: Desk): Promise<Response> {
  const input = { journeyId: desk.c.req.param("id"), format: "svg" };
  const { svg } = await desk.run<{ svg: string }>("draw_journey", input);
  return new Response(svg, {
    headers: {
      "content-type": "image/svg+xml",
      "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}

/** The players at one node: for what they wait, and until when. */
export async function nodePage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const { id, node } = c.req.param() as { id: string; node: string };
  const journey = await desk.run("get_journey", { id });
  const { rows, next } = await desk.list("journey_enrollments", {
    filters: { "journey_id.eq": id, "node.eq": node, "status.eq": "active" },
    order: "arrived_at.asc,id.asc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row">${shown(row.player_id, property.timezone, "player_id")}</th><td>${chip(String(row.phase))}</td><td>${timeOf(String(row.arrived_at), property.timezone)}</td><td>${shown(row.wake_at, property.timezone)}</td></tr>`,
  );
  const content = html`<p><a href="${PART}/${id}">${journey.name}</a></p><div class="live" id="live" data-live>${tableOf("Players here", ["Player", "Phase", "Here since", "Until"], lines, html`<p>Nobody is here now.</p>`)}${onward(c, next)}</div>`;
  return consolePage(desk, { part: PART, heading: `At ${node}`, content });
}

/** Pauses or resumes a journey, and shows it. */
export async function actOnJourney(desk: Desk, act: "pause" | "resume"): Promise<Response> {
  const journeyId = desk.c.req.param("id");
  await desk.run(`${act}_journey`, { journeyId });
  return redirect(`${PART}/${journeyId}`);
}

const ACT_OF: Readonly<Record<string, "pause" | "resume">> = { active: "pause", paused: "resume" };

function act(desk: Desk, { id, status }: Row): Html | "" {
  const name = ACT_OF[String(status)];
  if (name === undefined) return "";
  return html`<div class="acts"><form method="post" action="${PART}/${id}/${name}">${tokenField(desk)}<button class="quiet small">${words(name)}</button></form></div>`;
}

function reportOf({ id }: Row, { version, overdue, figures: all, nodes }: Report): Html {
  const { reasons, ...counts } = all;
  const rows = nodes.map(
    ({ node, type, entered, left, here, campaign_id }) =>
      html`<tr><th scope="row"><a href="${PART}/${id}/nodes/${encodeURIComponent(node)}">${node}</a></th><td>${words(type)}</td><td class="number">${entered.toLocaleString("en-US")}</td><td class="number">${left.toLocaleString("en-US")}</td><td class="number">${here.toLocaleString("en-US")}</td><td>${campaign_id ? html`<a href="/console/campaigns/${campaign_id}">Messages</a>` : ""}</td></tr>`,
  );
  const left = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  const leavers = left.reduce((total, [, count]) => total + count, 0);
  return html`${overdue > 0 ? html`<p class="wrong" role="alert">${overdue.toLocaleString("en-US")} players are more than a minute late.</p>` : ""}<h2>Version ${version}</h2>${figures(counts)}<h2>Nodes</h2>${tableOf("Nodes", ["Node", "Kind", "Came", "Went", "Here", "Figures"], rows, html``)}${left.length > 0 ? html`<h2>Why players left</h2>${bars("Reasons", left, leavers)}` : ""}`;
}
