import { html } from "hono/html";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import {
  area,
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
import { consolePage } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { term } from "#transports/console/terms.ts";
import { words } from "#transports/console/values.ts";
import { clock, counted, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { scriptField, scriptIn, scriptText } from "./calls.ts";

const PART = "/console/campaigns";

interface Choices {
  templates: Row[];
  segments: Row[];
}

/** The first questions of a new campaign: its name, channel, template and audience. */
export async function newCampaignPage(desk: Desk, choices: Choices, filled: Filled): Promise<Response> {
  const channels = MESSAGE_CHANNELS.filter((one) => one !== "inbox");
  const content = html`<div class="narrow">${formOf(desk, {
    action: `${PART}/new`,
    filled,
    content: html`${input(filled, { name: "name", label: say().general.name, isRequired: true, most: 200, hint: say().campaigns.forYourOwnListsPlayers })}${select(filled, { name: "channel", label: say().general.channel, options: channels.map((name): Option => [name, channelWords(name)]) })}${templateField(filled, choices, null)}${audienceField(desk, filled, choices)}<div class="acts"><button>${say().campaigns.writeTheMessage}</button></div>`,
  })}</div>`;
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().campaigns.campaigns },
    heading: say().campaigns.newCampaign,
    content,
  });
}

/** Makes the draft, and goes on to its message. */
export function createCampaign(desk: Desk, choices: () => Promise<Choices>): Promise<Response> {
  return tried(
    async () => {
      const { form } = desk;
      const created = await desk.once("create_campaign", {
        name: form.get("name") ?? "",
        channel: form.get("channel") ?? "email",
        ...(form.get("template_id") && { template_id: form.get("template_id") }),
        ...audienceIn(form),
      });
      return redirect(`${PART}/${created.id}`);
    },
    async (fault) => newCampaignPage(desk, await choices(), { values: desk.form, fault }),
  );
}

const TEXTS = ["name", "template_id", "subject", "preheader", "from_name", "body_html", "body_text"] as const;

/** Keeps what the person has written, and shows it. */
export function saveCampaign(desk: Desk, again: (filled: Filled) => Promise<Response>): Promise<Response> {
  const id = desk.c.req.param("id")!;
  return tried(
    async () => {
      const { name, ...texts } = textsOf(desk.form, TEXTS);
      await desk.run("update_campaign", {
        id,
        name: name ?? "",
        ...texts,
        ...scriptIn(desk.form),
        ...audienceIn(desk.form),
        ...tagsIn(desk.form),
        ...versionIn(desk.form),
      });
      return redirect(`${PART}/${id}${desk.form.get("then") === "check" ? "?check=yes" : ""}`);
    },
    (fault) => again({ values: desk.form, fault }),
  );
}

/** The form of a campaign's message and audience. */
export function editor(desk: Desk, campaign: Row, choices: Choices, filled = filledBy(campaign)): Html {
  const isMail = campaign.channel === "email";
  const hasTemplate = campaign.template_id !== null;
  const mail = html`${input(filled, { name: "subject", label: say().general.subject, most: 500, ...(hasTemplate && { hint: say().campaigns.emptyTheTemplates }) })}${input(filled, { name: "preheader", label: term("preheader", say().general.preheader), most: 500 })}${input(filled, { name: "from_name", label: say().general.sendersName, most: 200, hint: say().general.emptyThePropertys })}`;
  const title =
    campaign.channel === "sms"
      ? ""
      : input(filled, { name: "subject", label: say().campaigns.title, most: 500 });
  const mjml = campaign.body_mjml !== null;
  const body = isMail
    ? html`${mjml ? html`<p class="soft">${say().campaigns.htmlMadeMjmlWhichThis}</p>` : area(filled, { name: "body_html", label: say().general.messageAsHtml, rows: 12, isCode: true, hint: hasTemplate ? say().campaigns.emptyTheTemplates : html`${say().campaigns.fieldsAreWithFooter(term("liquid"))}` })}<details><summary>${say().general.plainText}</summary>${area(filled, { name: "body_text", label: say().general.messageAsPlainText, rows: 8, hint: say().general.emptyMadeHtml })}</details>`
    : area(filled, {
        name: "body_text",
        label: say().campaigns.message,
        rows: 6,
        hint: hasTemplate
          ? say().campaigns.emptyTheTemplates
          : html`${say().campaigns.fieldsAre(term("liquid"))}`,
      });
  if (campaign.channel === "voice") return scriptEditor(desk, campaign, choices, filled);
  return formOf(desk, {
    action: `${PART}/${campaign.id}`,
    filled,
    content: html`${versionField(campaign)}${input(filled, { name: "name", label: say().general.name, isRequired: true, most: 200 })}${templateField(filled, choices, String(campaign.channel))}${isMail ? mail : title}${body}${audienceField(desk, filled, choices)}${tagsField(filled)}<div class="acts"><button>${say().general.save}</button></div>`,
  });
}

function scriptEditor(desk: Desk, campaign: Row, choices: Choices, filled: Filled): Html {
  return formOf(desk, {
    action: `${PART}/${campaign.id}`,
    filled,
    content: html`${versionField(campaign)}${input(filled, { name: "name", label: say().general.name, isRequired: true, most: 200 })}${templateField(filled, choices, "voice")}${scriptField(filled)}${audienceField(desk, filled, choices)}${tagsField(filled)}<div class="acts"><button>${say().general.save}</button></div>`,
  });
}

/** The audience of a form: one segment, or everybody. */
function audienceIn(form: URLSearchParams): Row {
  const wanted = form.get("to") ?? "";
  if (wanted === "own") return {};
  if (wanted === "all") return { audience: "all", segment_id: null };
  return { audience: null, segment_id: wanted || null };
}

function tagsField(filled: Filled): Html {
  return input(filled, {
    name: "tags",
    label: say().campaigns.tags,
    most: 500,
    hint: say().settings.withCommasBetweenThem,
  });
}

/** The tags of a form that has the field. */
function tagsIn(form: URLSearchParams): Row {
  const written = form.get("tags");
  if (written === null) return {};
  return { tags: [...new Set(written.split(",").map((one) => one.trim()))].filter((one) => one !== "") };
}

function filledBy(campaign: Row): Filled {
  const { segment_id, audience, conditions } = campaign;
  return {
    values: {
      ...campaign,
      voice_script: scriptText(campaign),
      tags: (campaign.tags as string[]).join(", "),
      to: conditions ? "own" : (segment_id ?? audience ?? ""),
    },
  };
}

function templateField(filled: Filled, { templates }: Choices, channel: string | null): Html {
  const fitting = templates.filter((one) => channel === null || one.channel === channel);
  const options = fitting.map((one): Option => {
    return [String(one.id), channel === null ? `${one.name} (${one.channel})` : String(one.name)];
  });
  return select(filled, {
    name: "template_id",
    label: say().general.template,
    options: [["", say().campaigns.noneWriteItHere], ...options],
  });
}

function audienceField({ property: { timezone } }: Desk, filled: Filled, { segments }: Choices): Html {
  const options = segments.map((one): Option => {
    const size = typeof one.member_count === "number" ? ` (${sizeOf(one, timezone)})` : "";
    return [String(one.id), `${one.name}${size}`];
  });
  const isOwn = !(filled.values instanceof URLSearchParams) && filled.values.to === "own";
  const own: Option[] = isOwn ? [["own", say().campaigns.theCampaignsOwnRules]] : [];
  return select(filled, {
    name: "to",
    label: html`${say().campaigns.audienceOf(term("segment"))}`,
    options: [
      ["", say().campaigns.chooseLater],
      ...own,
      ...options,
      ["all", say().campaigns.everyPlayerProperty],
    ],
  });
}

/** The size of a segment when it was last counted. Each use counts anew. */
function sizeOf({ member_count, last_computed_at }: Row, timezone: string): string {
  const players = counted(Number(member_count), "player");
  return say().campaigns.playersAt(players, clock(new Date(String(last_computed_at)), timezone));
}

function channelWords(name: string): string {
  if (name === "sms") return say().campaigns.textMessage;
  return name === "loyaltyvip" ? say().campaigns.inboxPlayersPages : words(name);
}
