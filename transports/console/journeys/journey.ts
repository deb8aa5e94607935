import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton, askButton } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { readerOf } from "#transports/console/reader.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { chip } from "#transports/console/values.ts";
import { type Report, render } from "#transports/console/views/journey_report.js";
import { inEnglish, language, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";
import { publishSection } from "./publish.ts";

/** One journey: its figures, its picture with the players on each way, its nodes, and its publishing. */
export async function journeyPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const journey = await desk.run("get_journey", { id });
  const isPublished = journey.current_version !== null;
  const report = isPublished ? await desk.run<Report>("journey_report", { journeyId: id }) : null;
  const isOver = journey.status === "archived";
  const about = journey.description ? html`<p>${journey.description}</p>` : "";
  const running = report ? render(report, readerOf(desk)) : "";
  const content = html`${about}<div class="live" id="live" data-live="/console/live?journey=${id}">${running}${pictureOf(journey, report)}</div>${isOver ? "" : await publishSection(desk, journey)}`;
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().general.journeys },
    heading: String(journey.name),
    states: html`${chip(String(journey.status))} ${isPublished ? say().journeys.versionOf(String(journey.current_version)) : say().journeys.notPublishedYet} ${inEnglish(String(journey.status_reason ?? ""))}<span id="pulse">${say().general.live}</span>`,
    actions: actionsOf(desk, journey),
    content,
  });
}

/** The picture of a journey, drawn in the colours of the console. */
export async function journeyPicture(desk: Desk): Promise<Response> {
  const of = desk.c.req.query("of") === "draft" ? { of: "draft" } : {};
  const input = {
    journeyId: desk.c.req.param("id"),
    format: "svg",
    colors: "service",
    language: language(),
    ...of,
  };
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

/** Pauses, resumes or archives a journey, and shows it. */
export async function actOnJourney(desk: Desk, act: "pause" | "resume" | "archive"): Promise<Response> {
  const journeyId = desk.c.req.param("id")!;
  await desk.run(`${act}_journey`, { journeyId });
  return redirect(`${PART}/${journeyId}`);
}

/** Its address changes with the figures, so that the page shows those of now. */
function pictureOf({ id, version }: Row, report: Report | null): Html {
  const figures = report ? report.nodes.map(({ entered, left }) => `${entered}-${left}`).join(".") : "draft";
  const source = `${PART}/${id}/picture?at=${version}.${figures}`;
  return html`<h2>${say().journeys.picture}</h2><div class="wide" role="region" aria-label="${say().journeys.picture}" tabindex="0"><img class="drawing" src="${source}" alt="${say().journeys.pictureOf(report ? say().journeys.tableNodesHasSameFigures : "")}"></div>`;
}

function actionsOf(desk: Desk, { id, status }: Row): Html | "" {
  const simulate =
    status === "archived"
      ? ""
      : html`<a class="button quiet" href="${PART}/${id}/simulate">${say().journeys.simulate}</a>`;
  if (!desk.canWrite) return simulate;
  const path = `${PART}/${id}`;
  const pause = status === "active" ? actButton(desk, `${path}/pause`, say().journeys.pause) : "";
  const resume = status === "paused" ? actButton(desk, `${path}/resume`, say().journeys.resume, "") : "";
  const archive =
    status === "archived"
      ? ""
      : askButton(desk, {
          action: `${path}/archive`,
          text: say().journeys.archive,
          question: say().journeys.endsForGoodEverybodyInside,
          yes: say().journeys.archiveTheJourney,
        });
  return html`${simulate}${resume}${pause}${archive}`;
}
