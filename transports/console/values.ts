import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Row } from "./desk.ts";
import { chipOf } from "./views/parts.js";
import { clock, count, inEnglish, say, speech } from "./words/say.ts";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/;

/** Columns whose ids have a page of their own. */
const PAGES: Readonly<Record<string, string>> = {
  campaign_id: "/console/campaigns",
  player_id: "/console/players",
  journey_id: "/console/journeys",
  segment_id: "/console/segments",
  template_id: "/console/templates",
  import_job_id: "/console/imports",
};

/** A value as people read it. Times are in the time zone of the property. */
export function shown(value: unknown, timezone: string, column = ""): Html | string {
  if (value === null || value === undefined || value === "")
    return html`<span class="none">${say().general.none}</span>`;
  if (typeof value === "boolean") return labelOf(value ? "yes" : "no");
  if (typeof value === "number") return count(value);
  if (Array.isArray(value) && value.every((one) => typeof one !== "object"))
    return value.join(", ") || say().general.none;
  if (typeof value === "object") {
    const written = JSON.stringify(value);
    return written === "{}"
      ? html`<span class="none">${say().general.none}</span>`
      : html`<code>${written}</code>`;
  }
  const text = String(value);
  if (TIME.test(text)) return timeOf(text, timezone);
  if (column === "status" || column === "channel" || column === "state") return chip(text);
  const page = PAGES[column];
  return page && isUuid(text) ? html`<a href="${page}/${text}">${text}</a>` : text;
}

/** Why a campaign or a journey is in its state, as the operation says it. */
export function statusReason({ status_reason }: Row): Html | string {
  return status_reason ? inEnglish(String(status_reason)) : shown(null, "");
}

/** A state as a label. */
export function chip(text: string): Html {
  return chipOf(speech(), text);
}

/** A time by the property's clock. */
export function timeOf(text: string, timezone: string): Html {
  return html`<time datetime="${text}">${clock(new Date(text), timezone)}</time>`;
}

/** A sentence of an operation, with each time in it by the property's clock. */
export function withTimes(sentence: string, timezone: string): Html | string {
  const parts = sentence.split(/(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2}))/);
  return inEnglish(html`${parts.map((part, index) => (index % 2 === 1 ? timeOf(part, timezone) : part))}`);
}

/** The label of a code or a field, as it stands within a sentence. */
export function labelOf(code: string): string {
  return speech().labelOf(code);
}

/** The label of a code or a field as a heading. */
export function words(code: string): string {
  return speech().headingOf(code);
}

/** When the figures above were counted: they cost too much to be counted with each change. */
export function countedNow(timezone: string): Html {
  return html`<p class="soft">${say().report.countedAt(timeOf(new Date().toISOString(), timezone))}</p>`;
}
