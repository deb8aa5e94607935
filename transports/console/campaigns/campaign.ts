import { html } from "hono/html";
import { allows } from "#tools/campaigns/campaign/campaign.ts";
import type { CampaignStatus } from "#tools/statuses/campaigns.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton, askButton, type Filled, fingerprintIn } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { fieldsOf } from "#transports/console/records/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { chip, timeOf } from "#transports/console/values.ts";
import type { Stats } from "#transports/console/views/campaign_stats.js";
import { counted, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { abTestForm } from "./ab-test.ts";
import { checkLink, checkSection } from "./check.ts";
import { previewOf } from "./preview.ts";
import { reportOf } from "./report.ts";
import { editor } from "./write.ts";

const PART = "/console/campaigns";

/** The acts of the page. Each stands where the campaign's status allows its operation. */
export const ACTS = ["send", "pause", "resume", "cancel", "unschedule"] as const;
type Act = (typeof ACTS)[number];

/** One campaign: before it goes its message, audience and check; then its report. */
export async function campaignPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const [campaign, stats] = await Promise.all([
    desk.run("get_campaign", { id }),
    desk.run<Stats>("campaign_stats", { campaignId: id }),
  ]);
  const isBefore = allows(campaign.status as CampaignStatus, "send") && campaign.journey_id === null;
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().campaigns.campaigns },
    heading: String(campaign.name),
    states: statesOf(desk, campaign),
    actions: actsOf(desk, campaign),
    content: isBefore ? await before(desk, campaign, stats) : await after(desk, campaign, stats),
    frames: true,
  });
}

/** Pauses, resumes or cancels a campaign, sends it, or takes it back to draft, and shows it. */
export async function actOnCampaign(desk: Desk, act: Act): Promise<Response> {
  const campaignId = desk.c.req.param("id")!;
  if (act === "send") await sendChecked(desk, campaignId);
  else await desk.run(`${act}_campaign`, { campaignId });
  return redirect(`${PART}/${campaignId}`);
}

/** The campaign that goes is the one that the check has shown. */
async function sendChecked(desk: Desk, campaignId: string): Promise<void> {
  const { channel } = await desk.run("get_campaign", { id: campaignId });
  const operation = channel === "sms" ? "send_sms_campaign" : "send_campaign";
  await desk.run(operation, { campaignId, ...fingerprintIn(desk.form) });
}

/** Makes a draft of the same campaign, and shows it. */
export async function copyCampaign(desk: Desk): Promise<Response> {
  const campaignId = desk.c.req.param("id")!;
  const { campaign } = await desk.once<{ campaign: Row }>("duplicate_campaign", { campaignId });
  return redirect(`${PART}/${campaign.id}`);
}

export async function deleteCampaign(desk: Desk): Promise<Response> {
  await desk.run("delete_campaign", { id: desk.c.req.param("id") });
  return redirect(PART);
}

async function before(desk: Desk, campaign: Row, stats: Stats): Promise<Html> {
  const { check } = desk.c.req.query();
  const step = check === undefined ? "write" : "check";
  const steps = html`<ol class="steps"><li><a href="?"${step === "write" ? html` aria-current="step"` : ""}>${say().campaigns.write}</a></li><li><a href="?check=yes"${step === "check" ? html` aria-current="step"` : ""}>${say().campaigns.checkAndSend}</a></li></ol>`;
  const failed = stats.audience > 0 ? reportOf(desk, campaign, stats) : "";
  // The report stands here as soon as the campaign goes.
  const live = html`<div class="live" id="live" data-live="/console/live?campaign=${campaign.id}">${failed}</div>`;
  if (step === "check") return html`${steps}${live}${checkPart(desk, campaign)}`;
  const preview = html`<section class="preview" aria-label="${say().general.preview}">${await previewOf(desk, campaign)}</section>`;
  const written = desk.canWrite ? await forms(desk, campaign) : settings(desk, campaign);
  return html`${steps}${live}<div class="two"><section aria-label="${say().campaigns.write}">${written}</section>${preview}</div>`;
}

/** The check of a large audience takes longer than a page may, so it arrives behind it. */
function checkPart(desk: Desk, { id }: Row): Html {
  const { tested } = desk.c.req.query();
  const path = `${PART}/${id}/check${tested === undefined ? "" : "?tested=yes"}`;
  return html`<div id="check" data-part="${path}" aria-busy="true"><p><a class="button" href="${path}">${say().campaigns.seeWhoGetsAndSend}</a></p></div>`;
}

/** The check by itself, for browsers without scripts, and as the part of the campaign's page. */
export async function checkPage(desk: Desk, filled: Filled = { values: {} }): Promise<Response> {
  const campaign = await desk.run("get_campaign", { id: desk.c.req.param("id") });
  return consolePage(desk, {
    part: PART,
    above: { path: `${PART}/${campaign.id}`, name: String(campaign.name) },
    heading: say().campaigns.checkAndSend,
    content: html`<div id="check">${await checkSection(desk, campaign, filled)}</div>`,
  });
}

async function forms(desk: Desk, campaign: Row): Promise<Html> {
  const choices = await choicesOf(desk);
  return html`${editor(desk, campaign, choices)}${checkLink()}${abTestForm(desk, campaign, choices.templates)}`;
}

async function after(desk: Desk, campaign: Row, stats: Stats): Promise<Html> {
  const { id } = campaign;
  return html`<div class="live" id="live" data-live="/console/live?campaign=${id}">${reportOf(desk, campaign, stats)}</div><h2>${say().general.hourByHour}</h2><div id="hours" data-part="/console/campaigns/${id}/hours" data-renews aria-busy="true"><p><a href="/console/campaigns/${id}/hours">${campaign.channel === "voice" ? say().campaigns.callsByTheHour : say().campaigns.messagesOpensAndClicksBy}</a></p></div><h2>${say().campaigns.message}</h2><section class="preview" aria-label="${say().campaigns.message}">${await previewOf(desk, campaign)}</section>${settings(desk, campaign)}<p><a href="/console/records/campaign_sends?column=campaign_id&amp;operator=eq&amp;value=${id}">${say().campaigns.eachRecipientsMessage}</a></p>`;
}

/** The templates and segments that a campaign can name. */
export async function choicesOf(desk: Desk): Promise<{ templates: Row[]; segments: Row[] }> {
  const [templates, segments] = await Promise.all([
    desk.list("templates", { order: "name.asc", limit: 200, select: "id,name,channel" }),
    desk.list("segments", { order: "name.asc", limit: 200, select: "id,name,member_count,last_computed_at" }),
  ]);
  return { templates: templates.rows, segments: segments.rows };
}

function statesOf({ property: { timezone } }: Desk, campaign: Row): Html {
  const starts =
    campaign.status === "scheduled"
      ? html` ${say().campaigns.forTime(timeOf(String(campaign.scheduled_at), timezone))}`
      : "";
  return html`${chip(String(campaign.channel))} ${chip(String(campaign.status))}${starts} ${inEnglish(String(campaign.status_reason ?? ""))}<span id="pulse">${say().general.live}</span>`;
}

function actsOf(desk: Desk, campaign: Row): Html | "" {
  if (!desk.canWrite) return "";
  const { id, status } = campaign;
  const path = `${PART}/${id}`;
  const button = (act: Act, kind = "quiet") =>
    allows(status as CampaignStatus, act)
      ? actButton(desk, `${path}/${act}`, say().campaigns.acts[act], kind)
      : "";
  const cancel = allows(status as CampaignStatus, "cancel")
    ? askButton(desk, {
        action: `${path}/cancel`,
        text: say().campaigns.cancel,
        question: say().campaigns.messagesThatWaitAreNot,
        yes: say().campaigns.cancelTheCampaign,
      })
    : "";
  const remove =
    status === "draft"
      ? askButton(desk, {
          action: `${path}/delete`,
          text: say().general.delete,
          question: say().campaigns.draftIsGoneForGood,
          yes: say().campaigns.deleteTheDraft,
        })
      : "";
  return html`${button("pause", "")}${button("resume", "")}${status === "scheduled" ? button("unschedule") : ""}${cancel}${actButton(desk, `${path}/copy`, say().campaigns.copy)}${remove}`;
}

function settings({ property: { timezone } }: Desk, campaign: Row): Html {
  const rows = Object.entries(campaign).filter(([name]) => !SHOWN_ELSEWHERE.has(name));
  return html`<details><summary>${say().campaigns.allSettings(counted(rows.length, "setting"))}</summary>${fieldsOf(Object.fromEntries(rows), timezone)}</details>`;
}

const SHOWN_ELSEWHERE = new Set<string>([
  ...(["body_html", "body_text", "body_mjml", "subject", "stats", "name"] as const),
  ...(["status", "status_reason", "channel", "property_id"] as const),
]);
