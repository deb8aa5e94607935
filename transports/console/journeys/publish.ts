import { html } from "hono/html";
import { ON_PUBLISH } from "#tools/journeys/journey/columns.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { checkSeen, formOf, type Option, select, tick, versionField } from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";

interface Problem {
  node: string | null;
  field: string;
  message: string;
}

interface Checked {
  ok: boolean;
  errors: Problem[];
  warnings: Problem[];
}

/** The draft's problems, and the form that publishes it. */
export async function publishSection(desk: Desk, journey: Row): Promise<Html> {
  const checked = await desk.run<Checked>("validate_journey", { journeyId: journey.id });
  const list = (problems: readonly Problem[]) =>
    html`<ul>${problems.map(({ node, message }) => html`<li>${node ? html`<b>${node}</b>: ` : ""}${inEnglish(message)}</li>`)}</ul>`;
  const verdict = checked.ok
    ? html`<p>${say().journeys.draftCanBePublished} <a href="${PART}/${journey.id}/simulate">${say().journeys.simulateItFirst}</a>${say().journeys.realPlayersWalkThroughAnd}</p>`
    : html`<div class="wrong" role="alert"><p>${say().journeys.draftCannotBePublishedYet}</p>${list(checked.errors)}</div>`;
  const warnings =
    checked.warnings.length > 0 ? html`<h3>${say().journeys.toKnowBefore}</h3>${list(checked.warnings)}` : "";
  const form = checked.ok && desk.canWrite ? publishForm(desk, journey) : "";
  return html`<h2>${say().journeys.publish}</h2><section class="pane" id="publish">${verdict}${warnings}${form}</section>`;
}

/** Publishes the draft, and shows the journey. */
export async function publishJourney(desk: Desk): Promise<Response> {
  const journeyId = desk.c.req.param("id")!;
  checkSeen(desk, await desk.run("get_journey", { id: journeyId }));
  const onPublish = desk.form.get("onPublish");
  await desk.run("publish_journey", {
    journeyId,
    ...(onPublish && { onPublish }),
    backfill: desk.form.get("backfill") === "yes",
  });
  return redirect(`${PART}/${journeyId}`);
}

function publishForm(desk: Desk, journey: Row): Html {
  const filled = { values: { onPublish: String(journey.on_publish) } };
  const options = ON_PUBLISH.map((name): Option => [name, say().journeys.inside[name]]);
  const inside =
    journey.current_version === null
      ? ""
      : select(filled, { name: "onPublish", label: say().journeys.playersWhoAreInside, options });
  const label = say().journeys.playersWhoFitSegmentAlready;
  return formOf(desk, {
    action: `${PART}/${journey.id}/publish`,
    filled,
    kind: "bare",
    content: html`${versionField(journey)}${inside}${tick(filled, { name: "backfill", label, hint: say().journeys.withoutOnlyThoseEnterWho })}<details class="ask main"><summary>${say().journeys.publishOpens}</summary><div class="asked"><p>${say().journeys.fromThenOnPlayersEnter}</p><button>${say().journeys.publishTheJourney}</button></div></details>`,
  });
}
