import { html } from "hono/html";
import { bars, type Tile, tiles } from "#transports/console/bars.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton, askButton, formOf, input, tick } from "#transports/console/fields.ts";
import { term } from "#transports/console/terms.ts";
import { count, counted, words } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { REASONS } from "./reasons.ts";
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
  return html`<div class="acts last"><a class="button" href="?check=yes">Check before sending</a></div>`;
}

/** The check of a campaign before it goes: who gets it, who does not, its cost, a test, and the sending. */
export async function checkSection(desk: Desk, campaign: Row): Promise<Html> {
  const result = await desk.run<Preflight>("preflight_campaign", { campaignId: campaign.id });
  const blocked = Object.entries(result.blocked).sort(([, one], [, other]) => other - one);
  const rows = blocked.map(
    ([reason, value]) =>
      [reason, value, html`${words(reason)}<p class="soft">${REASONS[reason] ?? ""}</p>`] as const,
  );
  const { tested } = desk.c.req.query();
  return html`${tested === undefined ? "" : html`<p class="said" role="status">The test is on its way to ${desk.user.email}.</p>`}${verdict(result)}${tiles(figuresOf(result))}<div class="two aside"><section>${rows.length > 0 ? html`<h2>Who gets none, and why</h2>${bars("Blocked by reason", rows, result.audience, "Reason")}` : html`<h2>Who gets none</h2><p>The ${term("gate")} blocks nobody of this audience.</p>`}<h2>The first who get it</h2>${samples(campaign, result)}</section><section>${desk.canWrite ? sending(desk, campaign, result) : html`<p class="soft">A manager sends it.</p>`}</section></div>`;
}

function verdict({ ok, errors, warnings }: Preflight): Html {
  const problems = errors.map(({ field, message }) => html`<li>${field}: ${message}</li>`);
  const said = ok
    ? html`<p class="said" role="status">It can be sent now.</p>`
    : html`<div class="wrong" role="alert"><p>It cannot be sent as it is.</p><ul>${problems}</ul></div>`;
  return html`${said}${warnings.length > 0 ? html`<ul>${warnings.map((text) => html`<li>${text}</li>`)}</ul>` : ""}`;
}

function figuresOf({ audience, allowed, deferred, estimated_cost }: Preflight): Tile[] {
  const waiting = Object.values(deferred).reduce((total, one) => total + one.count, 0);
  return [
    { name: "Audience", value: count(audience), note: "players" },
    { name: "Messages", value: count(allowed), note: "would go out now" },
    { name: "Wait first", value: count(waiting), note: "for hours or a cap" },
    { name: "Estimated cost", value: costOf(estimated_cost) },
  ];
}

function costOf(cost: Preflight["estimated_cost"]): string {
  if (cost === null || cost.amount === null) return "not known";
  if (cost.currency === null) return "none";
  return cost.amount.toLocaleString("en-US", { style: "currency", currency: cost.currency });
}

function samples(campaign: Row, { sample_renders }: Preflight): Html {
  if (sample_renders.length === 0) return html`<p class="soft">Nobody would get it.</p>`;
  return html`<ul>${sample_renders.map(
    ({ player_id, to, subject }) =>
      html`<li>${to}${subject ? html`: ${subject}` : ""} <a href="/console/campaigns/${campaign.id}?player=${player_id}">See this message</a></li>`,
  )}</ul>`;
}

function sending(desk: Desk, campaign: Row, { ok, allowed }: Preflight): Html {
  const path = `/console/campaigns/${campaign.id}`;
  const test =
    campaign.channel === "email"
      ? html`<h2>Test</h2><p class="soft">The message as it is now, with [Test] before its subject. It counts in no figure.</p>${actButton(desk, `${path}/test`, `Send a test to ${desk.user.email}`)}`
      : campaign.channel === "voice"
        ? html`<h2>Rehearsal</h2><p class="soft">The call as it is now, with sample values. Nobody is called.</p>${rehearsalForm(campaign)}`
        : "";
  if (!ok) return html`<div class="pane">${test}<h2>Send</h2><p>Mend what stands above first.</p></div>`;
  const messages = counted(allowed, "message");
  const later = formOf(desk, {
    action: `${path}/schedule`,
    filled: { values: campaign },
    kind: "bare",
    content: html`${input({ values: {} }, { name: "scheduled_at", label: `Time, by the clock of ${desk.property.timezone}`, type: "datetime-local", isRequired: true })}${tick({ values: campaign }, { name: "send_in_player_timezone", label: "At this hour of each player's own clock" })}<button class="quiet small">Schedule</button>`,
  });
  const now = askButton(desk, {
    action: `${path}/send`,
    text: "Send now",
    question: `${messages} go out. What has left cannot be taken back.`,
    yes: `Send ${messages}`,
    kind: "",
  });
  return html`<div class="pane">${test}<h2>Send</h2>${now}<h2>Or later</h2>${later}</div>`;
}
