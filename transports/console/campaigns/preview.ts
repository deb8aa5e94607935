import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { term } from "#transports/console/terms.ts";
import { chip, count } from "#transports/console/values.ts";
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
    return html`${form}<div class="empty"><p>There is no message to show yet:</p><ul>${problems.map((one) => html`<li>${one.field}: ${one.message}</li>`)}</ul></div>`;
  }
  const query = new URLSearchParams(chosenQuery(chosen)).toString();
  const source = `/console/campaigns/${campaign.id}/message${query && `?${query}`}`;
  const asText = html`<pre tabindex="0" role="region" aria-label="The message as plain text">${message.text}</pre>`;
  if (message.html === null) {
    return html`${form}${envelope(message)}<div class="screen"><div class="bubble">${asText}</div></div>${sizes(message)}${campaign.voice_script ? lawOf(campaign.voice_script as VoiceScript) : ""}`;
  }
  return html`${form}${looks()}${envelope(message)}<div class="screen"><iframe class="mail" title="The message as the player gets it" src="${source}" sandbox></iframe><div class="as-text">${asText}</div></div>${sizes(message)}`;
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
    ? html`<label for="variant">Variant</label><select id="variant" name="variant">${test.variants.map(({ id }) => html`<option value="${id}"${id === variantId ? html` selected` : ""}>${id}</option>`)}</select>`
    : "";
  return html`<form class="search" method="get" role="search" aria-label="Preview for a player"><div class="field"><label for="player">As a player gets it: player id or email</label><input id="player" name="player" value="${desk.c.req.query("player") ?? ""}" maxlength="320" placeholder="made-up values"></div>${variants}<button class="quiet small">Show</button></form>`;
}

function looks(): Html {
  const look = (name: string, id: string, text: string, isOn = false) =>
    html`<div class="tick"><input type="radio" name="${name}" id="${id}"${isOn ? html` checked` : ""}><label for="${id}">${text}</label></div>`;
  return html`<form class="looks" aria-label="How it is shown">${look("size", "look-desk", "Desk", true)}${look("size", "look-phone", "Phone")}${look("size", "look-text", "Plain text")}<div class="tick"><input type="checkbox" id="look-dark"><label for="look-dark">Dark, by its own styles</label></div></form>`;
}

function envelope({ from, to, subject, preheader }: Message): Html {
  const line = (name: string | Html, value: string | null, kind = "") =>
    value === null ? "" : html`<div class="${kind}"><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<dl class="envelope">${line("From", from)}${line("To", to)}${line("Subject", subject, "subject")}${line(term("preheader", "Preheader"), preheader)}</dl>`;
}

function sizes({ bytes, links, segments, encoding, seconds }: Message): Html {
  const refused = links.filter(({ ok }) => !ok);
  const size = `${(bytes / 1024).toFixed(1)} kB`;
  const cut = bytes > CLIPPED_BYTES ? " Mail programs cut a message of more than 100 kB." : "";
  const length = seconds === null ? "" : ` About ${count(seconds)} seconds.`;
  const parts = segments === null ? "" : ` ${count(segments)} billed parts, ${encoding}.`;
  const checked = html`<details><summary>${count(links.length)} links${refused.length > 0 ? html`, ${chip("refused")} ${refused.length}` : ", all https"}</summary><ul>${links.map(({ url, ok }) => html`<li class="address">${url}${ok ? "" : html` ${chip("refused")} It is not https.`}</li>`)}</ul></details>`;
  return html`<div class="soft"><p>${size}.${cut}${parts}${length}</p>${links.length > 0 ? checked : ""}</div>`;
}
