import { html } from "hono/html";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import type { Desk } from "#transports/console/desk.ts";
import { readerOf } from "#transports/console/reader.ts";
import { term } from "#transports/console/terms.ts";
import { countedNow, labelOf, words } from "#transports/console/values.ts";
import { reasonBars, tiles, withoutConsent } from "#transports/console/views/parts.js";
import { type Preview, render } from "#transports/console/views/segment_preview.js";
import { count, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

interface Reach {
  audience: number;
  allowed: number;
  waiting: number;
  blocked: Record<string, number>;
  no_consent: Record<string, number>;
  warnings: string[];
}

/** The count of now, and ten players who match. */
export async function playersSection(desk: Desk, rules: object): Promise<Html> {
  const preview = await desk.run<Preview>("segment_preview", rules);
  return html`<div id="people">${render(preview, readerOf(desk))}${countedNow(desk.property.timezone)}</div>`;
}

/** The players that a message would reach, and the others with the reason. */
export async function reachSection(
  desk: Desk,
  { path, ...rules }: { channel: string; path: string | null } & Record<string, unknown>,
): Promise<Html> {
  const { channel } = rules;
  const reader = readerOf(desk);
  const reach = await desk.run<Reach>("segment_reach", rules);
  const channels = MESSAGE_CHANNELS.filter((one) => one !== "loyaltyvip");
  const links = path
    ? html`<ul class="filters" aria-label="${say().general.channel}">${channels.map((one) => html`<li><a href="${path}?channel=${one}"${one === channel ? html` aria-current="true"` : ""}>${words(one)}</a></li>`)}</ul>`
    : "";
  const notReached =
    Object.keys(reach.blocked).length === 0
      ? ""
      : html`<h3>${say().segments.notReachedBy(labelOf(channel))}</h3>${reasonBars(reader, { caption: say().segments.notReachedByReason, counts: reach.blocked, whole: reach.audience, channel })}`;
  return html`<div id="reach">${links}${tiles([
    { name: say().general.players, value: count(reach.audience) },
    {
      name: html`${say().segments.allowedBy(term("gate"))}`,
      value: count(reach.allowed),
      note: say().segments.messagesBelow,
    },
    { name: say().general.waitFirst, value: count(reach.waiting), note: say().general.forHoursOrCap },
  ])}${reach.warnings.map((text) => html`<p class="soft">${inEnglish(text)}</p>`)}${notReached}${withoutConsent(reader, reach.no_consent)}${countedNow(desk.property.timezone)}</div>`;
}
