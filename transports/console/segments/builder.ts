import { html } from "hono/html";
import { type Fault, toFault } from "#runtime/faults.ts";
import type { Group } from "#tools/segments/rules/compile.ts";
import type { Desk } from "#transports/console/desk.ts";
import { area, formOf, input, versionField, versionIn } from "#transports/console/fields.ts";
import { consolePage, faultText } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { type Choices, choicesOf } from "./choices.ts";
import { changed, type Draft, draftIn, draftOf, NEW_DRAFT, rulesOf, type SavedSegment } from "./draft.ts";
import { PART } from "./list.ts";
import { playersSection, reachSection } from "./people.ts";
import { ruleFields } from "./rule-fields.ts";
import { rulesInWords } from "./words.ts";

/** The form of a new segment. */
export async function newSegmentPage(desk: Desk): Promise<Response> {
  return builderPage(desk, { draft: NEW_DRAFT, act: "" });
}

/** The form of a saved segment's rules. */
export async function editSegmentPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const [segment, { typeOf }] = await Promise.all([
    desk.run<SavedSegment>("get_segment", { id }),
    choicesOf(desk),
  ]);
  const draft = draftOf(segment, typeOf);
  if (draft)
    return builderPage(desk, {
      draft,
      act: "count",
      segment: { id, name: String(segment.name), version: segment.version },
    });
  const content = html`<div class="note"><p>${say().segments.formCannotShowTheseRules}</p></div>`;
  const above = { path: `${PART}/${id}`, name: String(segment.name) };
  return consolePage(desk, { part: PART, above, heading: say().segments.changeTheRules, content });
}

/** Does what the pressed button says: one rule more or less, a count, or keeps the segment. */
export async function buildSegment(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const act = desk.form.get("do") ?? "show";
  const draft = changed(draftIn(desk.form), act);
  const segment = id === undefined ? undefined : { id, name: draft.name, ...versionIn(desk.form) };
  if (act !== "save") return builderPage(desk, { draft, act, segment });
  try {
    const { typeOf } = await choicesOf(desk);
    const { name, description } = draft;
    const values = { name, description: description || null, ...rulesOf(draft, typeOf) };
    const saved = segment
      ? await desk.run("update_segment", { id: segment.id, ...values, ...versionIn(desk.form) })
      : await desk.once("create_segment", values);
    return redirect(`${PART}/${saved.id}`);
  } catch (error) {
    const fault = toFault(error);
    if (fault.status === 403 || fault.status >= 500) throw fault;
    const now = segment && (await desk.run<SavedSegment>("get_segment", { id: segment.id }));
    const again = segment && now && { ...segment, version: now.version };
    const page = await builderPage(desk, { draft, act: "", segment: again, fault });
    return new Response(page.body, { status: fault.status, headers: page.headers });
  }
}

interface Shown {
  draft: Draft;
  /** The pressed button. */
  act: string;
  segment?: { id: string; name: string; version?: number } | undefined;
  fault?: Fault;
}

async function builderPage(desk: Desk, { draft, act, segment, fault }: Shown): Promise<Response> {
  const choices = await choicesOf(desk);
  const rules = rulesOf(draft, choices.typeOf);
  const effect =
    act === "" ? html`<p class="soft">${say().segments.pressCount}</p>` : await effectOf(desk, rules, act);
  const filled = { values: { name: draft.name, description: draft.description }, fault };
  const form = formOf(desk, {
    action: segment ? `${PART}/${segment.id}/edit` : `${PART}/new`,
    filled,
    kind: "bare builder",
    content: html`${segment ? versionField({ ...segment }) : ""}<div class="two aside"><div class="form">${input(filled, { name: "name", label: say().general.name, most: 200, placeholder: say().segments.goldAwayFor60Days })}<div id="rules" data-shown="rules" class="form bare">${groupsOf(draft, choices)}</div>${area(filled, { name: "description", label: say().segments.note, rows: 2, hint: say().segments.forYourColleagues })}<div class="acts"><button name="do" value="save">${say().segments.saveTheSegment}</button><button class="quiet" name="do" value="count">${say().segments.count}</button><button class="quiet" name="do" value="reach">${say().segments.whoCanBeReached}</button></div></div><div><section class="pane" aria-live="polite"><h2>${say().segments.inWords}</h2><div id="effect" data-shown="always">${rulesInWords(rules, choices.names)}${effect}</div></section></div></div>`,
  });
  return consolePage(desk, {
    part: PART,
    above: segment
      ? { path: `${PART}/${segment.id}`, name: segment.name }
      : { path: PART, name: say().segments.segments },
    heading: segment ? say().segments.changeTheRules : say().segments.newSegment,
    content: html`<div data-builder>${form}</div>`,
  });
}

/** The count of the rules, or why they cannot be counted yet. */
async function effectOf(desk: Desk, rules: Group, act: string): Promise<Html> {
  try {
    const players = await playersSection(desk, rules);
    if (act !== "reach") return players;
    return html`${players}<h2>${say().segments.byEmail}</h2>${await reachSection(desk, { ...rules, channel: "email", path: null })}`;
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw fault;
    return faultText(fault);
  }
}

function groupsOf({ logic, groups }: Draft, choices: Choices): Html {
  const joined =
    groups.length > 1
      ? html`<div class="field"><label for="logic">${say().segments.theGroups}</label>${logicSelect("logic", logic, [say().segments.allOfTheGroups, say().segments.anyOfTheGroups])}</div>`
      : "";
  const fieldsets = groups.map(
    ({ logic: own, rules }, group) =>
      html`<fieldset><legend>${groups.length > 1 ? say().segments.groupNumber(group + 1) : say().general.rules}</legend>${rules.length > 1 ? html`<div class="field"><label class="unseen" for="g${group}.logic">${say().segments.howTheRulesJoin}</label>${logicSelect(`g${group}.logic`, own, [say().segments.allOfTheseRules, say().segments.anyOfTheseRules])}</div>` : ""}<ol class="rules">${rules.map((rule, place) => ruleFields({ rule, group, place, choices }))}</ol><div class="acts"><button class="quiet" name="do" value="rule:${group}">${say().general.addARule}</button></div></fieldset>`,
  );
  return html`${fieldsets}${joined}<div><button class="plain-button" name="do" value="group">${say().segments.addAGroupOfRules}</button></div>`;
}

function logicSelect(name: string, chosen: string, texts: readonly [string, string]): Html {
  const option = (value: string, text: string) =>
    html`<option value="${value}"${value === chosen ? html` selected` : ""}>${text}</option>`;
  return html`<select id="${name}" name="${name}">${option("and", texts[0])}${option("or", texts[1])}</select>`;
}
