import { html } from "hono/html";
import type { Status } from "#tools/campaigns/campaign/columns.ts";
import { allows } from "#tools/campaigns/campaign/states.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { CallStats } from "#tools/voice-calls/figures.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { bars, figures } from "./bars.ts";
import { checkSection } from "./check.ts";
import type { Desk, Row } from "./desk.ts";
import { consolePage, tableOf, tokenField } from "./frame.ts";
import { onward } from "./paging.ts";
import { redirect } from "./sign-in.ts";
import { chip, fieldsOf, shown, timeOf, words } from "./values.ts";

/** The buttons of the page. Each stands where the campaign's status allows its operation. */
export const ACTS = ["send", "pause", "resume", "cancel"] as const;
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
  const isReady = allows(campaign.status as Status, "send");
  const { check, tested } = desk.c.req.query();
  const before = isReady && check !== undefined ? await checkSection(desk, campaign) : "";
  const why = campaign.status_reason ? html` <span class="soft">${campaign.status_reason}</span>` : "";
  const content = html`<div class="live" id="live" data-live><p>${chip(String(campaign.channel))} ${chip(String(campaign.status))}${why}</p>${acts(desk, campaign)}${stats.audience === 0 ? "" : html`${funnel(stats)}${skips(stats)}${results(stats)}${callFigures(stats, campaign.id)}<p class="soft">Counted ${timeOf(stats.as_of, timezone)}.</p>`}</div>${tested === undefined ? "" : html`<p class="said" role="status">The test is on its way to ${desk.user.email}.</p>`}${isReady && check === undefined ? html`<p><a class="button small" href="?check=yes#check">Check it before sending</a></p>` : ""}${before}
<h2>Message</h2>${message(campaign)}
<details><summary>All settings</summary>${fieldsOf(settingsOf(campaign), timezone)}</details>
<p><a href="/console/records/campaign_sends?column=campaign_id&amp;operator=eq&amp;value=${campaign.id}">Each recipient's message</a></p>`;
  return consolePage(desk, {
    part: "/console/campaigns",
    heading: String(campaign.name),
    content,
    frames: true,
  });
}

/** Sends the message to the person who looks at the page, and shows the campaign. */
export async function testCampaign(desk: Desk): Promise<Response> {
  const campaignId = desk.c.req.param("id");
  await desk.run("send_test_message", { campaignId, to: desk.user.email });
  return redirect(`/console/campaigns/${campaignId}?check=yes&tested=yes#check`);
}

/** Sends, pauses, resumes or cancels a campaign, and shows it. */
export async function actOnCampaign(desk: Desk, act: Act): Promise<Response> {
  const campaignId = desk.c.req.param("id");
  await desk.run(`${act}_campaign`, { campaignId });
  return redirect(`/console/campaigns/${campaignId}`);
}

interface Stats extends Record<(typeof RESULTS | typeof AFTER)[number], number> {
  audience: number;
  skipped: Record<string, number>;
  calls: (CallCounts & { simulated: CallCounts }) | null;
  as_of: string;
}

type CallCounts = Pick<CallStats, "placed" | "answered" | "voicemail" | "no_answer" | "opted_out">;

function acts(desk: Desk, { id, status }: Row): Html {
  const open = ACTS.filter((act) => act !== "send" && allows(status as Status, act));
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
  const counts = [...RESULTS, ...AFTER].map((name): [string, number] => [name, stats[name] ?? 0]);
  return html`<h2>What people did</h2>${figures(Object.fromEntries(counts))}`;
}

function message(campaign: Row): Html {
  if (campaign.voice_script) return script(campaign.voice_script as VoiceScript);
  const text = campaign.body_text ?? campaign.body_html;
  if (!campaign.subject && !text) return html`<p class="soft">The template has the message.</p>`;
  return html`<div class="message">${campaign.subject ? html`<p><b>${campaign.subject}</b></p>` : ""}<pre tabindex="0" role="region" aria-label="The text of the message">${text ?? "The template has the text."}</pre></div>`;
}

/** The turns of a call. Every call says more, by law. */
function script({ turns = [], instructions, on_voicemail, callback_number }: VoiceScript): Html {
  const said = turns.map(({ id, say }) => `${id}: ${say}`);
  const lines = [
    ...said,
    ...(instructions ? [instructions] : []),
    ...(on_voicemail ? [`On a voicemail: ${on_voicemail}`] : []),
  ];
  return html`<div class="message"><pre tabindex="0" role="region" aria-label="The script of the call">${lines.join("\n")}</pre></div><p class="soft">Every call first says whose it is and how to stop all calls, and at its end the number ${callback_number}. <a href="/docs/voice">What every call says</a></p>`;
}

/** The calls, real and simulated ones apart. */
function callFigures({ calls }: Pick<Stats, "calls">, id: unknown): Html | "" {
  if (!calls) return "";
  const { simulated } = calls;
  const shownOf = ({ placed, answered, voicemail, no_answer, opted_out }: CallCounts) =>
    figures({ placed, answered, voicemail, no_answer, opted_out });
  return html`<h2>Calls</h2>${calls.placed > 0 ? shownOf(calls) : ""}${simulated.placed > 0 ? html`<p>Simulated: nobody was called.</p>${shownOf(simulated)}` : ""}<p><a href="/console/records/voice_calls?column=campaign_id&amp;operator=eq&amp;value=${id}">Each call with its transcript</a></p>`;
}

const SHOWN_ELSEWHERE = new Set([
  "body_html",
  "body_text",
  "body_mjml",
  "voice_script",
  "subject",
  "stats",
  "name",
  "status",
]);

function settingsOf(campaign: Row): Row {
  return Object.fromEntries(Object.entries(campaign).filter(([name]) => !SHOWN_ELSEWHERE.has(name)));
}
