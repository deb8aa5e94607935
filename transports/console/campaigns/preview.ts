import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { term } from "#transports/console/terms.ts";
import { chip } from "#transports/console/values.ts";
import { count, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { lawOf } from "./calls.ts";

interface Message {
  player_id: string | null;
  variant_id: string | null;
  to: string;
  from: string | null;
  subject: string | null;
  preheader: string | null;
  html: string | null;
  text: string;
  segments: number | null;
  encoding: string | null;
  seconds: number | null;
  bytes: number;
  links: { url: string; ok: boolean }[];
}

interface Preview {
  message: Message | null;
  problems: { field: string; message: string }[];
}

/** Mail programs cut a message that is larger. */
const CLIPPED_BYTES = 102_400;

/** A campaign's message as a chosen player gets it: in a mail program of a phone or a desk, by day, in the dark, as text. */
export async function previewOf(desk: Desk, campaign: Row): Promise<Html> {
  const chosen = await chosenOf(desk);
  const { message, problems } = await desk.run<Preview>("preview_campaign", {
    campaignId: campaign.id,
    ...chosen,
  });
  const form = choosing(desk, campaign, chosen);
  if (!message) {
    return html`${form}<div class="empty"><p>${say().report.thereNoMessageToShow}</p><ul>${problems.map((one) => html`<li>${inEnglish(`${one.field}: ${one.message}`)}</li>`)}</ul></div>`;
  }
  const query = new URLSearchParams(chosenQuery(chosen)).toString();
  const source = `/console/campaigns/${campaign.id}/message${query && `?${query}`}`;
  const asText = html`<pre tabindex="0" role="region" aria-label="${say().report.messageAsPlainText}">${message.text}</pre>`;
  if (message.html === null) {
    return html`${form}${envelope(message)}<div class="screen"><div class="bubble">${asText}</div></div>${sizes(message)}${campaign.voice_script ? lawOf(campaign.voice_script as VoiceScript) : ""}`;
  }
  return html`${form}${looks()}${envelope(message)}<div class="screen"><iframe class="mail" title="${say().report.messageAsPlayerGets}" src="${source}" sandbox></iframe><div class="as-text">${asText}</div></div>${sizes(message)}`;
}

/** The HTML of the previewed message, for a frame without scripts and without our cookies. */
export async function messageOf(desk: Desk): Promise<Response> {
  const { message } = await desk.run<Preview>("preview_campaign", {
    campaignId: desk.c.req.param("id"),
    ...(await chosenOf(desk)),
  });
  return framed(message?.html ?? "");
}

/** Mail of a person's own writing, shown without scripts, requests and our cookies. */
export function framed(body: string): Response {
  return new Response(body, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    },
  });
}

interface Chosen {
  playerId?: string;
  variantId?: string;
}

/** The player is named by id, player id or email. */
async function chosenOf(desk: Desk): Promise<Chosen> {
  const { player, variant } = desk.c.req.query();
  const named = player?.trim() ?? "";
  const playerId = isUuid(named) || named === "" ? named : await idOf(desk, named);
  return { ...(playerId && { playerId }), ...(variant && { variantId: variant }) };
}

async function idOf(desk: Desk, named: string): Promise<string> {
  const column = named.includes("@") ? "email" : "player_id";
  const filters = { [`${column}.eq`]: named };
  const { rows } = await desk.list("players", { filters, limit: 1, select: "id" });
  if (rows.length === 0) throw new Fault("not_found", { message: `No player has ${named}.` });
  return String(rows[0]!.id);
}

function chosenQuery({ playerId, variantId }: Chosen): Record<string, string> {
  return { ...(playerId && { player: playerId }), ...(variantId && { variant: variantId }) };
}

/** The form that chooses the player and the variant of the preview. */
function choosing(desk: Desk, campaign: Row, { variantId }: Chosen): Html {
  const test = campaign.ab_test as { variants: { id: string }[] } | null;
  const variants = test
    ? html`<label for="variant">${say().report.variant}</label><select id="variant" name="variant">${test.variants.map(({ id }) => html`<option value="${id}"${id === variantId ? html` selected` : ""}>${id}</option>`)}</select>`
    : "";
  return html`<form class="search" method="get" role="search" aria-label="${say().report.previewForAPlayer}"><div class="field"><label for="player">${say().report.asPlayerGetsPlayerId}</label><input id="player" name="player" value="${desk.c.req.query("player") ?? ""}" maxlength="320" placeholder="${say().report.madeupValues}"></div>${variants}<button class="quiet small">${say().report.show}</button></form>`;
}

function looks(): Html {
  const look = (name: string, id: string, text: string, isOn = false) =>
    html`<div class="tick"><input type="radio" name="${name}" id="${id}"${isOn ? html` checked` : ""}><label for="${id}">${text}</label></div>`;
  return html`<form class="looks" aria-label="${say().report.howItIsShown}">${look("size", "look-desk", say().report.desk, true)}${look("size", "look-phone", say().general.phone)}${look("size", "look-text", say().general.plainText)}<div class="tick"><input type="checkbox" id="look-dark"><label for="look-dark">${say().report.darkByItsOwnStyles}</label></div></form>`;
}

function envelope({ from, to, subject, preheader }: Message): Html {
  const line = (name: string | Html, value: string | null, kind = "") =>
    value === null ? "" : html`<div class="${kind}"><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<dl class="envelope">${line(say().general.from, from)}${line(say().general.to, to)}${line(say().general.subject, subject, "subject")}${line(term("preheader", say().general.preheader), preheader)}</dl>`;
}

function sizes({ bytes, links, segments, encoding, seconds }: Message): Html {
  const refused = links.filter(({ ok }) => !ok);
  const size = say().report.kb((bytes / 1024).toFixed(1));
  const cut = bytes > CLIPPED_BYTES ? say().report.mailProgramsCutMessageMore : "";
  const length = seconds === null ? "" : say().report.aboutSeconds(count(seconds));
  const parts = segments === null ? "" : say().report.billedParts(count(segments), encoding ?? "");
  const checked = html`<details><summary>${say().report.linksChecked(count(links.length), refused.length > 0 ? html`, ${chip("refused")} ${refused.length}` : say().report.allHttps)}</summary><ul>${links.map(({ url, ok }) => html`<li class="address">${url}${ok ? "" : html` ${chip("refused")} ${say().report.notHttps}`}</li>`)}</ul></details>`;
  return html`<div class="soft"><p>${size}.${cut}${parts}${length}</p>${links.length > 0 ? checked : ""}</div>`;
}
