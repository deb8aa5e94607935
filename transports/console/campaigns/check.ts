import { html } from "hono/html";
import { bars, type Tile, tiles } from "#transports/console/bars.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton, askButton, formOf, input, tick } from "#transports/console/fields.ts";
import { term } from "#transports/console/terms.ts";
import { countedNow, words } from "#transports/console/values.ts";
import { count, counted, inEnglish, money, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { reasonWords } from "./reasons.ts";
import { rehearsalForm } from "./rehearsal.ts";

interface Preflight {
  ok: boolean;
  errors: { field: string; message: string; stops_sending: boolean }[];
  warnings: string[];
  audience: number;
  blocked: Record<string, number>;
  allowed: number;
  deferred: Record<string, { count: number }>;
  estimated_cost: { amount: number | null; currency: string | null } | null;
  sample_renders: { player_id: string; to: string; subject: string | null; text: string }[];
}

/** The link from the message to its check. */
export function checkLink(): Html {
  return html`<div class="acts last"><a class="button" href="?check=yes">${say().report.checkBeforeSending}</a></div>`;
}

/** The check of a campaign before it goes: who gets it, who does not, its cost, a test, and the sending. */
export async function checkSection(desk: Desk, campaign: Row): Promise<Html> {
  const result = await desk.run<Preflight>("preflight_campaign", { campaignId: campaign.id });
  const blocked = Object.entries(result.blocked).sort(([, one], [, other]) => other - one);
  const rows = blocked.map(
    ([reason, value]) =>
      [
        reason,
        value,
        html`${words(reason)}<p class="soft">${reasonWords(reason, campaign.channel)}</p>`,
      ] as const,
  );
  const { tested } = desk.c.req.query();
  return html`${tested === undefined ? "" : html`<p class="said" role="status">${say().report.testOnItsWay(desk.user.email)}</p>`}${verdict(result)}${tiles(figuresOf(result))}${countedNow(desk.property.timezone)}<div class="two aside"><section>${rows.length > 0 ? html`<h2>${say().general.whoGetsNoneAndWhy}</h2>${bars(say().general.blockedByReason, rows, result.audience, say().general.reason)}` : html`<h2>${say().report.whoGetsNone}</h2><p>${say().report.gateBlocksNobody(term("gate"))}</p>`}<h2>${say().report.firstWhoGet}</h2>${samples(campaign, result)}</section><section>${desk.canWrite ? sending(desk, campaign, result) : html`<p class="soft">${say().report.aManagerSendsIt}</p>`}</section></div>`;
}

function verdict({ ok, errors, warnings }: Preflight): Html {
  const problems = errors.map(({ field, message }) => html`<li>${inEnglish(`${field}: ${message}`)}</li>`);
  const said = ok
    ? html`<p class="said" role="status">${say().report.canBeSentNow}</p>`
    : html`<div class="wrong" role="alert"><p>${say().report.cannotBeSentAs}</p><ul>${problems}</ul></div>`;
  return html`${said}${warnings.length > 0 ? html`<ul>${warnings.map((text) => html`<li>${inEnglish(text)}</li>`)}</ul>` : ""}`;
}

function figuresOf({ audience, allowed, deferred, estimated_cost }: Preflight): Tile[] {
  const waiting = Object.values(deferred).reduce((total, one) => total + one.count, 0);
  return [
    { name: say().report.audience, value: count(audience), note: say().report.playersBelow },
    { name: say().general.messages, value: count(allowed), note: say().report.wouldGoOutNow },
    { name: say().general.waitFirst, value: count(waiting), note: say().general.forHoursOrCap },
    { name: say().report.estimatedCost, value: costOf(estimated_cost) },
  ];
}

function costOf(cost: Preflight["estimated_cost"]): string {
  if (cost === null || cost.amount === null) return say().report.notKnown;
  if (cost.currency === null) return say().general.none;
  return money(cost.amount, cost.currency);
}

function samples(campaign: Row, { sample_renders }: Preflight): Html {
  if (sample_renders.length === 0) return html`<p class="soft">${say().general.nobodyWouldGetIt}</p>`;
  return html`<ul>${sample_renders.map(
    ({ player_id, to, subject }) =>
      html`<li>${to}${subject ? html`: ${subject}` : ""} <a href="/console/campaigns/${campaign.id}?player=${player_id}">${say().report.seeThisMessage}</a></li>`,
  )}</ul>`;
}

function sending(desk: Desk, campaign: Row, { ok, allowed }: Preflight): Html {
  const path = `/console/campaigns/${campaign.id}`;
  const test =
    campaign.channel === "email"
      ? html`<h2>${say().report.test}</h2><p class="soft">${say().report.messageAsNowWithTest}</p>${actButton(desk, `${path}/test`, say().report.sendTestTo(desk.user.email))}`
      : campaign.channel === "voice"
        ? html`<h2>${say().general.rehearsal}</h2><p class="soft">${say().report.callAsNowWithSample}</p>${rehearsalForm(campaign)}`
        : "";
  if (!ok)
    return html`<div class="pane">${test}<h2>${say().report.send}</h2><p>${say().report.mendWhatStandsAboveFirst}</p></div>`;
  const messages = counted(allowed, "message");
  const later = formOf(desk, {
    action: `${path}/schedule`,
    filled: { values: campaign },
    kind: "bare",
    content: html`${input({ values: {} }, { name: "scheduled_at", label: say().report.timeByClockOf(desk.property.timezone), type: "datetime-local", isRequired: true })}${tick({ values: campaign }, { name: "send_in_player_timezone", label: say().report.atThisHourEachPlayers })}<button class="quiet small">${say().report.schedule}</button>`,
  });
  const now = askButton(desk, {
    action: `${path}/send`,
    text: say().report.sendNow,
    question: say().report.messagesGoOut(messages),
    yes: say().report.sendMessages(messages),
    kind: "",
  });
  return html`<div class="pane">${test}<h2>${say().report.send}</h2>${now}<h2>${say().report.orLater}</h2>${later}</div>`;
}
