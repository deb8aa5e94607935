import { html } from "hono/html";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import { bars, tiles } from "#transports/console/bars.ts";
import { reasonWords } from "#transports/console/campaigns/reasons.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { numbers, tableOf } from "#transports/console/frame.ts";
import { term } from "#transports/console/terms.ts";
import { chip, countedNow, labelOf, shown, words } from "#transports/console/values.ts";
import { count, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

interface Preview {
  count: number;
  sample: Row[];
  warnings: string[];
}

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
  const rows = preview.sample.map(
    (row) =>
      html`<tr><th scope="row"><a href="/console/players/${row.id}">${row.player_id ?? row.id}</a></th><td>${[row.first_name, row.last_name].filter(Boolean).join(" ")}</td><td>${shown(row.tier, "")}</td><td class="number">${shown(row.adt, "")}</td><td>${chip(String(row.status))}</td></tr>`,
  );
  const warnings = preview.warnings.map((text) => html`<p class="note">${inEnglish(text)}</p>`);
  const table = tableOf(
    say().segments.tenOfThem,
    [
      say().general.player,
      say().general.name,
      say().general.tier,
      numbers(term("adt")),
      say().general.status,
    ],
    rows,
    html`<p>${say().segments.nobodyMatches} <a href="/docs/segments">${say().segments.theGuideToRules}</a></p>`,
  );
  return html`<div id="people"><p class="big">${count(preview.count)}</p><p class="soft">${say().segments.playersMatchNow}</p>${warnings}${table}${countedNow(desk.property.timezone)}</div>`;
}

/** The players that a message would reach, and the others with the reason. */
export async function reachSection(
  desk: Desk,
  { path, ...rules }: { channel: string; path: string | null } & Record<string, unknown>,
): Promise<Html> {
  const { channel } = rules;
  const reach = await desk.run<Reach>("segment_reach", rules);
  const blocked = Object.entries(reach.blocked).sort(([, one], [, other]) => other - one);
  const rows = blocked.map(
    ([reason, value]) =>
      [reason, value, html`${words(reason)}<p class="soft">${reasonWords(reason, channel)}</p>`] as const,
  );
  const channels = MESSAGE_CHANNELS.filter((one) => one !== "loyaltyvip");
  const links = path
    ? html`<ul class="filters" aria-label="${say().general.channel}">${channels.map((one) => html`<li><a href="${path}?channel=${one}"${one === channel ? html` aria-current="true"` : ""}>${words(one)}</a></li>`)}</ul>`
    : "";
  const causes = Object.entries(reach.no_consent).filter(([, value]) => value > 0);
  return html`<div id="reach">${links}${tiles([
    { name: say().general.players, value: count(reach.audience) },
    {
      name: html`${say().segments.allowedBy(term("gate"))}`,
      value: count(reach.allowed),
      note: say().segments.messagesBelow,
    },
    { name: say().general.waitFirst, value: count(reach.waiting), note: say().general.forHoursOrCap },
  ])}${reach.warnings.map((text) => html`<p class="soft">${inEnglish(text)}</p>`)}${rows.length > 0 ? html`<h3>${say().segments.notReachedBy(labelOf(channel))}</h3>${bars(say().segments.notReachedByReason, rows, reach.audience, say().general.reason)}` : ""}${causes.length > 0 ? html`<p class="soft">${say().general.withoutConsent(term("consent"), causes.map(([name, value]) => `${count(value)} ${labelOf(name)}`).join(", "))}</p>` : ""}${countedNow(desk.property.timezone)}</div>`;
}
