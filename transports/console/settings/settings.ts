import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/settings";

const PAGES = [
  [
    "property",
    "The casino",
    "Legal name, postal address, time zone, texts of the law, and who sees addresses",
  ],
  ["hours", "Quiet hours", "When messages may go out, by the law of each place"],
  ["caps", "Caps", "The most messages that a player gets in a time"],
  ["theme", "Theme", "Colours, name and language of the pages that players see"],
  ["keys", "API keys", "Credentials of programs and agents"],
  ["people", "People", "Who may sign in, and what each may do"],
] as const;
export type SettingsPage = (typeof PAGES)[number][0];

/** The pages of the settings. */
export function settingsPage(desk: Desk): Promise<Response> {
  const content = html`<ul class="tables">${PAGES.map(([name, title, about]) => html`<li><a href="${PART}/${name}">${title}</a><p class="soft">${about}</p></li>`)}<li><a href="/console/records/message_providers">Providers</a><p class="soft">Who carries mail and texts. Their secrets are set by the API.</p></li><li><a href="/console/records/webhook_endpoints">Webhooks</a><p class="soft">Addresses of programs that are told of events</p></li></ul>`;
  return consolePage(desk, { part: PART, heading: "Settings", content });
}

/** A page of the settings. */
export function settingPage(
  desk: Desk,
  name: SettingsPage,
  content: Html,
  extras: { status?: number } = {},
): Promise<Response> {
  const [, heading] = PAGES.find(([one]) => one === name)!;
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: "Settings" },
    heading,
    content,
    ...extras,
  });
}
