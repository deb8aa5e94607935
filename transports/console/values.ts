import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import type { Html } from "#transports/pages/frame/page.ts";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/;

/** Columns whose ids have a page of their own. */
const PAGES: Readonly<Record<string, string>> = {
  campaign_id: "/console/campaigns",
  player_id: "/console/players",
  journey_id: "/console/journeys",
  segment_id: "/console/segments",
};

/** A value as people read it. Times are in the time zone of the property. */
export function shown(value: unknown, timezone: string, column = ""): Html | string {
  if (value === null || value === undefined || value === "") return html`<span class="none">none</span>`;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return value.toLocaleString("en-US", { maximumFractionDigits: 4 });
  if (typeof value === "object") return html`<code>${JSON.stringify(value)}</code>`;
  const text = String(value);
  if (TIME.test(text)) return timeOf(text, timezone);
  if (column === "status" || column === "channel") return chip(text);
  const page = PAGES[column];
  return page && isUuid(text) ? html`<a href="${page}/${text}">${text}</a>` : text;
}

/** A state as a label. */
export function chip(text: string): Html {
  return html`<span class="chip ${text}">${text.replaceAll("_", " ")}</span>`;
}

/** A time by the property's clock. */
export function timeOf(text: string, timezone: string): Html {
  const format = { dateStyle: "medium", timeStyle: "short", timeZone: timezone } as const;
  return html`<time datetime="${text}">${new Date(text).toLocaleString("en-US", format)}</time>`;
}

/** A column's name as a heading. */
export function words(column: string): string {
  const text = column.replaceAll("_", " ");
  return text[0]!.toUpperCase() + text.slice(1);
}

/** All fields of a record, those without a value last. */
export function fieldsOf(row: Readonly<Record<string, unknown>>, timezone: string): Html {
  const entries = Object.entries(row);
  const hasValue = ([, value]: [string, unknown]) => value !== null && value !== "";
  const pairs = [...entries.filter(hasValue), ...entries.filter((entry) => !hasValue(entry))];
  return html`<dl class="fields">${pairs.map(([name, value]) => html`<div><dt>${words(name)}</dt><dd>${shown(value, timezone, name)}</dd></div>`)}</dl>`;
}
