import { html } from "hono/html";
import type { Status } from "#tools/campaigns/campaign/columns.ts";
import { allows } from "#tools/campaigns/campaign/states.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Desk, Row } from "./desk.ts";
import { consolePage, tableOf, tokenField } from "./frame.ts";
import { onward } from "./paging.ts";
import { redirect } from "./sign-in.ts";
import { chip, fieldsOf, shown, timeOf, words } from "./values.ts";

/** The buttons of the page. Each stands where the campaign's status allows its operation. */
export const ACTS = ["pause", "resume", "cancel"] as const;
type Act = (typeof ACTS)[number];

/** The states of recipients, in the order of a message's way. They add up to the audience. */
const STATES = [
  ...(["skipped", "pending", "sent", "delivered"] as const),
  ...(["bounced", "failed", "unknown", "cancelled"] as const),
] as const;

const RESULTS = ["opens_unique", "opens_human", "clicks_unique", "clicks_human"] as const;
const AFTER = ["converted", "redeemed", "unsubscribed", "complained"] as const;

/** All campaigns, newest first. */
export async function campaignsPage(desk: Desk): Promise<Response> {
  const status = desk.c.req.query("status") ?? "";
  const { rows, next } = await desk.list("campaigns", {
    filters: status === "" ? {} : { "status.eq": status },
    order: "created_at.desc,id.desc",
    limit: 50,
    cursor: desk.c.req.query("cursor") ?? "",
  });
  const { timezone } = desk.property;
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row"><a href="/console/campaigns/${row.id}">${row.name}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.status))}</td><td>${shown(row.scheduled_at, timezone)}</td><td>${timeOf(String(row.created_at), timezone)}</td></tr>`,
  );
  const empty = html`<p>There is no campaign${status === "" ? "" : ` in the state ${status}`}.</p><p><a href="/docs/campaigns">The guide to campaigns</a> makes the first one.</p>`;
  const content = html`<div class="live" id="live" data-live>${tableOf("Campaigns", ["Campaign", "Channel", "Status", "Starts", "Made"], lines, empty)}${onward(desk.c, next)}</div>`;
  return consolePage(desk, { part: "/console/campaigns", heading: "Campaigns", content });
}

/** One campaign: where its recipients stand, why some are left out, what people did, and the message. */
export async function campaignPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const [campaign, stats] = await Promise.all([
    desk.run("get_campaign", { id }),
    desk.run<Stats>("campaign_stats", { campaignId: id }),
  ]);
  const { timezone } = desk.property;
  const why = campaign.status_reason ? html` <span class="soft">${campaign.status_reason}</span>` : "";
  const content = html`<div class="live" id="live" data-live><p>${chip(String(campaign.channel))} ${chip(String(campaign.status))}${why}</p>${acts(desk, campaign)}${funnel(stats)}${skips(stats)}${results(stats)}<p class="soft">Counted ${timeOf(stats.as_of, timezone)}.</p></div>
<h2>Message</h2>${message(campaign)}
<details><summary>All settings</summary>${fieldsOf(settingsOf(campaign), timezone)}</details>
<p><a href="/console/records/campaign_sends?column=campaign_id&amp;operator=eq&amp;value=${campaign.id}">Each recipient's message</a></p>`;
  return consolePage(desk, { part: "/console/campaigns", heading: String(campaign.name), content });
}

/** Pauses, resumes or cancels a campaign, and shows it. */
export async function actOnCampaign(desk: Desk, act: Act): Promise<Response> {
  const campaignId = desk.c.req.param("id");
  await desk.run(`${act}_campaign`, { campaignId });
  return redirect(`/console/campaigns/${campaignId}`);
}

interface Stats extends Record<(typeof RESULTS | typeof AFTER)[number], number> {
  audience: number;
  skipped: Record<string, number>;
  as_of: string;
}

function acts(desk: Desk, { id, status }: Row): Html {
  const open = ACTS.filter((act) => allows(status as Status, act));
  const form = (act: Act, kind: string) =>
    html`<form method="post" action="/console/campaigns/${id}/${act}">${tokenField(desk)}<button class="${kind} small">${words(act)}</button></form>`;
  return html`<div class="acts">${open.map((act) =>
    act === "cancel"
      ? html`<details><summary>Cancel…</summary><p>Messages that wait are not sent. This cannot be undone.</p>${form(act, "grave")}</details>`
      : form(act, "quiet"),
  )}</div>`;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

function funnel(stats: Stats): Html {
  const countOf = (state: string): number => {
    const value = (stats as unknown as Row)[state];
    return typeof value === "number" ? value : sum((value ?? {}) as Record<string, number>);
  };
  const counts = STATES.map((state): [string, number] => [state, countOf(state)]);
  const filled = counts.filter(([, count]) => count > 0);
  return html`<h2>Recipients</h2><p>${stats.audience.toLocaleString("en-US")} in the audience.</p>${bars("Recipients by state", filled, stats.audience)}`;
}

function skips({ skipped }: Stats): Html | "" {
  const reasons = Object.entries(skipped).sort(([, one], [, other]) => other - one);
  if (reasons.length === 0) return "";
  return html`<h2>Left out, and why</h2>${bars("Skipped by reason", reasons, sum(skipped))}<p><a href="/docs/consent-and-compliance">What the reasons mean</a></p>`;
}

function results(stats: Stats): Html {
  const boxes = [...RESULTS, ...AFTER].map(
    (name) => html`<div><dt>${words(name)}</dt><dd>${(stats[name] ?? 0).toLocaleString("en-US")}</dd></div>`,
  );
  return html`<h2>What people did</h2><dl class="figures">${boxes}</dl>`;
}

/** A bar a row. The number stands beside it, so that nobody has to measure. */
function bars(caption: string, counts: readonly [string, number][], whole: number): Html {
  const rows = counts.map(([name, count]) => {
    const share = whole === 0 ? 0 : (100 * count) / whole;
    return html`<tr><th scope="row">${words(name)}</th><td class="number">${count.toLocaleString("en-US")}</td><td class="number">${share.toFixed(1)} %</td><td class="bar-cell"><svg class="bar-of ${name}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${share.toFixed(2)}" height="10"/></svg></td></tr>`;
  });
  const table = tableOf(caption, ["Group", "Players", "Share", "Chart"], rows, html`<p>Nobody yet.</p>`);
  return html`<div class="counts">${table}</div>`;
}

function message(campaign: Row): Html {
  const text = campaign.body_text ?? campaign.body_html;
  if (!campaign.subject && !text) return html`<p class="soft">The template has the message.</p>`;
  return html`<div class="message">${campaign.subject ? html`<p><b>${campaign.subject}</b></p>` : ""}<pre tabindex="0" role="region" aria-label="The text of the message">${text ?? "The template has the text."}</pre></div>`;
}

const SHOWN_ELSEWHERE = new Set([
  "body_html",
  "body_text",
  "body_mjml",
  "subject",
  "stats",
  "name",
  "status",
]);

function settingsOf(campaign: Row): Row {
  return Object.fromEntries(Object.entries(campaign).filter(([name]) => !SHOWN_ELSEWHERE.has(name)));
}
