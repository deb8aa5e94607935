import { html } from "hono/html";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import {
  area,
  askButton,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  textsOf,
  tried,
  versionField,
  versionIn,
} from "#transports/console/fields.ts";
import { consolePage, firstStep } from "#transports/console/frame.ts";
import { byName, nameSearch, noneNamed, onward } from "#transports/console/paging.ts";
import { asWritten, messageView } from "#transports/console/preview/message.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { term } from "#transports/console/terms.ts";
import { chip, timeOf, words } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/templates";

/** All templates, by name. */
export async function templatesPage(desk: Desk): Promise<Response> {
  const { c, property, canWrite } = desk;
  const wanted = (c.req.query("q") ?? "").trim();
  const { rows, next } = await desk.list("templates", {
    filters: byName(wanted),
    order: "name.asc,id.asc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.name}</a></th><td>${chip(String(row.channel))}</td><td>${row.subject ?? ""}</td><td>${timeOf(String(row.updated_at), property.timezone)}</td></tr>`,
  );
  const empty =
    wanted !== ""
      ? noneNamed(PART, wanted)
      : html`<p>${say().templates.thereNoTemplateYetTemplate}</p>${firstStep(desk, `${PART}/new`, say().templates.writeTheFirstTemplate)}`;
  return consolePage(desk, {
    part: PART,
    heading: say().templates.templates,
    actions: canWrite ? html`<a class="button" href="${PART}/new">${say().templates.newTemplate}</a>` : "",
    content: html`${nameSearch(PART, wanted)}${tableOf(say().templates.templates, [say().general.template, say().general.channel, say().general.subject, say().templates.changed], lines, empty)}${onward(c, next)}`,
  });
}

/** The form of a new template. */
export function newTemplatePage(desk: Desk, filled: Filled): Promise<Response> {
  const channels = MESSAGE_CHANNELS.filter((one) => one !== "inbox");
  const choice = select(filled, {
    name: "channel",
    label: say().general.channel,
    options: channels.map((one): Option => [one, words(one)]),
  });
  const content = formOf(desk, {
    action: `${PART}/new`,
    filled,
    content: html`${bodyFields(filled, choice)}`,
  });
  const above = { path: PART, name: say().templates.templates };
  return consolePage(desk, {
    part: PART,
    above,
    heading: say().templates.newTemplate,
    content: html`<div class="narrow">${content}</div>`,
  });
}

export function createTemplate(desk: Desk): Promise<Response> {
  return tried(
    async () => {
      const { name, ...texts } = textsOf(desk.form, TEXTS);
      const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== null));
      const channel = desk.form.get("channel") ?? "email";
      const { id } = await desk.once("create_template", { name: name ?? "", channel, ...given });
      return redirect(`${PART}/${id}`);
    },
    (fault) => newTemplatePage(desk, { values: desk.form, fault }),
  );
}

/** One template: its form, and how it looks. */
export async function templatePage(desk: Desk, filled?: Filled): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const template = await desk.run("get_template", { id });
  const shown = filled ?? { values: template };
  const isMjml = template.engine === "mjml";
  const form = desk.canWrite
    ? formOf(desk, {
        action: `${PART}/${id}`,
        filled: shown,
        content: html`${versionField(template)}${bodyFields(shown, "", isMjml)}`,
      })
    : "";
  const fields = (template.variables as string[] | null) ?? [];
  const preview = messageView(asWritten(template), `${PART}/${id}/message`);
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().templates.templates },
    heading: String(template.name),
    states: chip(String(template.channel)),
    frames: true,
    actions: desk.canWrite ? actionsOf(desk, template) : "",
    content: html`<div class="two">${form}<section class="preview" aria-label="${say().general.preview}">${preview}<p class="soft">${fields.length > 0 ? say().templates.fieldsNamed(fields.join(", ")) : ""}${say().templates.filledInForAPlayer}</p></section></div>`,
  });
}

export function saveTemplate(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  return tried(
    async () => {
      const { name, ...texts } = textsOf(desk.form, TEXTS);
      await desk.run("update_template", { id, name: name ?? "", ...texts, ...versionIn(desk.form) });
      return redirect(`${PART}/${id}`);
    },
    (fault) => templatePage(desk, { values: desk.form, fault }),
  );
}

export async function deleteTemplate(desk: Desk): Promise<Response> {
  await desk.run("delete_template", { id: desk.c.req.param("id") });
  return redirect(PART);
}

const TEXTS = ["name", "subject", "html", "mjml", "text"] as const;

function bodyFields(filled: Filled, channel: Html | "", isMjml = false): Html {
  const body = isMjml
    ? area(filled, { name: "mjml", label: say().templates.messageAsMjml, rows: 16, isCode: true })
    : area(filled, {
        name: "html",
        label: say().general.messageAsHtml,
        rows: 16,
        isCode: true,
        hint: html`${say().templates.fieldsAreInTexts(term("liquid"))}`,
      });
  return html`${input(filled, { name: "name", label: say().general.name, isRequired: true, most: 200 })}${channel}${input(filled, { name: "subject", label: say().templates.subjectOrTitle, most: 500 })}${body}${area(filled, { name: "text", label: say().general.messageAsPlainText, rows: 6, hint: say().general.emptyMadeHtml })}<div class="acts"><button>${say().general.save}</button></div>`;
}

function actionsOf(desk: Desk, { id }: Row): Html {
  const remove = askButton(desk, {
    action: `${PART}/${id}/delete`,
    text: say().general.delete,
    question: say().general.campaignsThatAreToGo,
    yes: say().templates.deleteTheTemplate,
  });
  return html`<a class="button" href="/console/campaigns/new?template=${id}">${say().templates.makeCampaign}</a>${remove}`;
}
