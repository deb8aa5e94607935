import { setTimeout as pause } from "node:timers/promises";
import { html } from "hono/html";
import { Fault } from "#runtime/faults.ts";
import { term } from "#transports/console/terms.ts";
import { chip } from "#transports/console/values.ts";
import { count, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

/** A message as one player would get it. Of a template, which nobody gets yet, the envelope and the links are unknown. */
export interface ShownMessage {
  to?: string;
  from?: string | null;
  subject: string | null;
  preheader?: string | null;
  html: string | null;
  text: string;
  segments?: number | null;
  encoding?: string | null;
  seconds?: number | null;
  bytes: number;
  links?: { url: string; ok: boolean }[];
}

/** The answer of preview_campaign. */
export interface Preview {
  message: (ShownMessage & { player_id: string | null; variant_id: string | null }) | null;
  problems: { field: string; message: string }[];
}

/** Mail programs cut a message that is larger. */
const CLIPPED_BYTES = 102_400;

/** A message in a mail program of a desk or a phone, by day, in the dark, and as text. `source` answers its HTML. */
export function messageView(message: ShownMessage, source: string): Html {
  const asText = html`<pre tabindex="0" role="region" aria-label="${say().report.messageAsPlainText}">${message.text}</pre>`;
  if (message.html === null) {
    return html`${envelope(message)}<div class="screen"><div class="bubble">${asText}</div></div>${sizes(message)}`;
  }
  return html`${looks()}${envelope(message)}<div class="screen"><iframe class="mail" title="${say().report.messageAsPlayerGets}" src="${source}" sandbox></iframe><div class="as-text">${asText}</div></div>${sizes(message)}`;
}

/** A message as it is written, before it is filled in for a player. */
export function asWritten({
  subject,
  html: markup,
  text,
}: {
  subject?: unknown;
  html?: unknown;
  text?: unknown;
}): ShownMessage {
  const body = typeof markup === "string" ? markup : null;
  const plain = typeof text === "string" ? text : "";
  const bytes = Buffer.byteLength(plain) + Buffer.byteLength(body ?? "");
  return { subject: typeof subject === "string" ? subject : null, html: body, text: plain, bytes };
}

/** The same, or the reasons why there is no message. */
export function previewView({ message, problems }: Preview, source: string): Html {
  if (message) return messageView(message, source);
  return html`<div class="empty"><p>${say().report.thereNoMessageToShow}</p><ul>${problems.map((one) => html`<li>${inEnglish(`${one.field}: ${one.message}`)}</li>`)}</ul></div>`;
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

function looks(): Html {
  const look = (name: string, id: string, text: string, isOn = false) =>
    html`<div class="tick"><input type="radio" name="${name}" id="${id}"${isOn ? html` checked` : ""}><label for="${id}">${text}</label></div>`;
  return html`<form class="looks" aria-label="${say().report.howItIsShown}">${look("size", "look-desk", say().report.desk, true)}${look("size", "look-phone", say().general.phone)}${look("size", "look-text", say().general.plainText)}<div class="tick"><input type="checkbox" id="look-dark"><label for="look-dark">${say().report.darkByItsOwnStyles}</label></div></form>`;
}

function envelope({ from, to, subject, preheader }: ShownMessage): Html {
  const line = (name: string | Html, value: string | null | undefined, kind = "") =>
    value === null || value === undefined
      ? ""
      : html`<div class="${kind}"><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<dl class="envelope">${line(say().general.from, from)}${line(say().general.to, to)}${line(say().general.subject, subject, "subject")}${line(term("preheader", say().general.preheader), preheader)}</dl>`;
}

function sizes({ bytes, links = [], segments = null, encoding, seconds = null }: ShownMessage): Html {
  const refused = links.filter(({ ok }) => !ok);
  const size = say().report.kb(Math.max(0.1, bytes / 1024).toFixed(1));
  const cut = bytes > CLIPPED_BYTES ? say().report.mailProgramsCutMessageMore : "";
  const length = seconds === null ? "" : say().report.aboutSeconds(count(seconds));
  const parts = segments === null ? "" : say().report.billedParts(count(segments), encoding ?? "");
  const checked = html`<details><summary>${say().report.linksChecked(count(links.length), refused.length > 0 ? html`, ${chip("refused")} ${refused.length}` : say().report.noneRefused)}</summary><ul>${links.map(({ url, ok }) => html`<li class="address">${url}${ok ? "" : html` ${chip("refused")} ${say().report.notHttps}`}</li>`)}</ul></details>`;
  return html`<div class="soft"><p>${size}.${cut}${parts}${length}</p>${links.length > 0 ? checked : ""}</div>`;
}

/** Milliseconds. A page with a frame, and the refresh of another one, render the same message at once. */
const PAUSES = [250, 500, 1_000];

/** Asks for a preview again where others of the property are rendering. Between two tries it holds no connection. */
export async function patiently<T>(preview: () => Promise<T>): Promise<T> {
  for (const milliseconds of PAUSES) {
    try {
      return await preview();
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "unavailable") throw error;
      await pause(milliseconds);
    }
  }
  return preview();
}
