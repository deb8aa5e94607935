import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import type { Words } from "#transports/console/words/english/english.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/settings";

export type SettingsPage = keyof Words["settings"]["pages"];

/** The pages of the settings. */
export function settingsPage(desk: Desk): Promise<Response> {
  const content = html`<ul class="tables">${Object.entries(say().settings.pages).map(([name, { title, about }]) => html`<li><a href="${PART}/${name}">${title}</a><p class="soft">${about}</p></li>`)}<li><a href="/console/records/message_providers">${say().general.providers}</a><p class="soft">${say().settings.whoCarriesMailAndTexts}</p></li><li><a href="/console/records/webhook_endpoints">${say().settings.webhooks}</a><p class="soft">${say().settings.addressesProgramsThatAreTold}</p></li></ul>`;
  return consolePage(desk, { part: PART, heading: say().settings.settings, content });
}

/** A page of the settings. */
export function settingPage(
  desk: Desk,
  name: SettingsPage,
  content: Html,
  extras: { status?: number } = {},
): Promise<Response> {
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().settings.settings },
    heading: say().settings.pages[name].title,
    content,
    ...extras,
  });
}
