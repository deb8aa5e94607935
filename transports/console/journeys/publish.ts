import { html } from "hono/html";
import { ON_PUBLISH } from "#tools/journeys/publishing/people-inside.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { formOf, type Option, select, tick } from "#transports/console/fields.ts";
import { redirect } from "#transports/console/sign-in.ts";
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

const INSIDE: Readonly<Record<(typeof ON_PUBLISH)[number], string>> = {
  finish_old: "finish the version that they entered",
  move_matching: "move to the same node of the new one, or leave",
  exit_old: "leave the journey",
};

/** The draft's problems, and the form that publishes it. */
export async function publishSection(desk: Desk, journey: Row): Promise<Html> {
  const checked = await desk.run<Checked>("validate_journey", { journeyId: journey.id });
  const list = (problems: readonly Problem[]) =>
    html`<ul>${problems.map(({ node, message }) => html`<li>${node ? html`<b>${node}</b>: ` : ""}${message}</li>`)}</ul>`;
  const verdict = checked.ok
    ? html`<p>The draft can be published. <a href="${PART}/${journey.id}/simulate">Simulate it first</a>: real players walk through it, and nothing is sent.</p>`
    : html`<div class="wrong" role="alert"><p>The draft cannot be published yet:</p>${list(checked.errors)}</div>`;
  const warnings = checked.warnings.length > 0 ? html`<h3>To know before</h3>${list(checked.warnings)}` : "";
  const form = checked.ok && desk.canWrite ? publishForm(desk, journey) : "";
  return html`<h2>Publish</h2><section class="pane" id="publish">${verdict}${warnings}${form}</section>`;
}

/** Publishes the draft, and shows the journey. */
export async function publishJourney(desk: Desk): Promise<Response> {
  const journeyId = desk.c.req.param("id")!;
  const onPublish = desk.form.get("onPublish");
  await desk.run("publish_journey", {
    journeyId,
    ...(onPublish && { onPublish }),
    backfill: desk.form.get("backfill") === "yes",
  });
  return redirect(`${PART}/${journeyId}`);
}

function publishForm(desk: Desk, journey: Row): Html {
  const filled = { values: {} };
  const options = ON_PUBLISH.map(
    (name): Option => [name, `They ${INSIDE[name] ?? name.replaceAll("_", " ")}`],
  );
  const inside =
    journey.current_version === null
      ? ""
      : select(filled, { name: "onPublish", label: "Players who are inside", options });
  const label = "Players who fit the segment already enter too";
  return formOf(desk, {
    action: `${PART}/${journey.id}/publish`,
    filled,
    kind: "bare",
    content: html`${inside}${tick(filled, { name: "backfill", label, hint: "Without it only those enter who come to fit it from now on." })}<details class="ask"><summary>Publish…</summary><div class="asked"><p>From then on players enter by themselves, and messages go out to them.</p><button>Publish the journey</button></div></details>`,
  });
}
