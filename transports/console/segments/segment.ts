import { html } from "hono/html";
import type { Group } from "#tools/segments/rules/compile.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { askButton } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { chip, timeOf } from "#transports/console/values.ts";
import { count, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";
import { playersSection, reachSection } from "./people.ts";
import { rulesInWords } from "./words.ts";

/** One segment: its rules in words, its players, and who of them cannot be reached. */
export async function segmentPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const [segment, names] = await Promise.all([desk.run<Row & Group>("get_segment", { id }), namesOf(desk)]);
  const { timezone } = desk.property;
  const excluded = (segment.exclude_segment_ids as string[]).map((one) => names.get(one) ?? one);
  const size =
    typeof segment.member_count === "number"
      ? html`<p class="big">${count(segment.member_count)}</p><p class="soft">${say().segments.playersCountedAt(timeOf(String(segment.last_computed_at), timezone))}</p>`
      : html`<p class="soft">${say().segments.itIsBeingCounted}</p>`;
  const rules =
    segment.type === "static"
      ? html`<p>${say().segments.fixedListPlayers} <a href="/console/records/segment_members?column=segment_id&amp;operator=eq&amp;value=${id}">${say().segments.itsMembers}</a></p>`
      : rulesInWords(segment, names);
  const content = html`${segment.description ? html`<p>${segment.description}</p>` : ""}<div class="two"><section class="pane"><h2>${say().general.rules}</h2>${rules}${excluded.length > 0 ? html`<p>${say().segments.withoutPlayersOf(excluded.join(", "))}</p>` : ""}</section><section class="pane"><h2>${say().segments.size}</h2><div id="live" class="live" data-live="/console/live?segment=${id}">${size}</div></section></div>
<h2>${say().segments.whoCanBeReached}</h2>${partOf("reach", `${PART}/${id}/reach`, say().segments.countWhoCanBeReached)}
<h2>${say().segments.tenOfItsPlayers}</h2>${partOf("people", `${PART}/${id}/players`, say().segments.showTenItsPlayers)}`;
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().segments.segments },
    heading: String(segment.name),
    states: html`${chip(String(segment.type))} ${chip(String(segment.state))}<span id="pulse">${say().general.live}</span>`,
    actions: desk.canWrite ? actionsOf(desk, segment) : "",
    content,
  });
}

/** The count and ten players of a segment. */
export async function segmentPlayersPage(desk: Desk): Promise<Response> {
  return partPage(desk, say().segments.tenOfItsPlayers, (segmentId) => playersSection(desk, { segmentId }));
}

/** The players of a segment that a channel can reach, and the others with the reason. */
export async function segmentReachPage(desk: Desk): Promise<Response> {
  const channel = desk.c.req.query("channel") || "email";
  return partPage(desk, say().segments.whoCanBeReached, (segmentId) =>
    reachSection(desk, { segmentId, channel, path: `${PART}/${segmentId}/reach` }),
  );
}

export async function deleteSegment(desk: Desk): Promise<Response> {
  await desk.run("delete_segment", { id: desk.c.req.param("id") });
  return redirect(PART);
}

/** The names of the segments that rules may name. */
export async function namesOf(desk: Desk): Promise<Map<string, string>> {
  const { rows } = await desk.list("segments", { select: "id,name", order: "name.asc", limit: 200 });
  return new Map(rows.map(({ id, name }) => [String(id), String(name)]));
}

async function partPage(
  desk: Desk,
  heading: string,
  content: (id: string) => Promise<Html>,
): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const segment = await desk.run("get_segment", { id });
  const above = { path: `${PART}/${id}`, name: String(segment.name) };
  return consolePage(desk, { part: PART, above, heading, content: await content(id) });
}

/** A part of a page that comes later, and a link to it for a browser without scripts. */
export function partOf(id: string, path: string, text: string): Html {
  return html`<div id="${id}" data-part="${path}" data-renews aria-busy="true"><p><a href="${path}">${text}</a></p></div>`;
}

function actionsOf(desk: Desk, { id, type }: Row): Html {
  const remove = askButton(desk, {
    action: `${PART}/${id}/delete`,
    text: say().general.delete,
    question: say().general.campaignsThatAreToGo,
    yes: say().segments.deleteTheSegment,
  });
  return html`<a class="button" href="/console/campaigns/new?segment=${id}">${say().segments.makeCampaignFor}</a>${type === "dynamic" ? html`<a class="button quiet" href="${PART}/${id}/edit">${say().segments.changeTheRules}</a>` : ""}${remove}`;
}
