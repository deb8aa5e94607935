import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Desk, Row } from "./desk.ts";
import { actButton, formOf, input } from "./fields.ts";
import { consolePage, numbers, tableOf } from "./frame.ts";
import { importsTable } from "./imports/list.ts";
import { redirect } from "./sign-in.ts";
import { chip, counted, shown, timeOf } from "./values.ts";

const MOVING = ["sending", "queued", "paused", "scheduled", "failed"];

interface SendingState {
  paused: boolean;
  since: string | null;
  reason: string | null;
  campaigns: number;
}

/** The first page: what sends, waits and failed, the journeys, the imports, and the health of providers and webhooks. */
export async function nowPage(desk: Desk): Promise<Response> {
  const [state, campaigns, journeys, imports, webhooks, providers, players] = await Promise.all([
    desk.run<SendingState>("get_sending_state"),
    desk.list("campaigns", { filters: { "status.in": MOVING }, order: "updated_at.desc", limit: 20 }),
    desk.list("journeys", { filters: { "status.in": ["active", "paused"] }, order: "name", limit: 20 }),
    desk.list("import_jobs", { order: "created_at.desc", limit: 5 }),
    desk.list("webhook_endpoints", { filters: { "failing_since.not.is": "null" }, limit: 20 }),
    desk.list("message_providers", { order: "channel.asc,priority.asc", limit: 50 }),
    desk.list("players", { limit: 1, select: "id" }),
  ]);
  const { timezone } = desk.property;
  const none = html`<p>Nothing sends and nothing waits.</p><p><a class="button quiet" href="/console/campaigns">See all campaigns</a></p>`;
  const noJourney = html`<p>No journey runs. <a href="/console/journeys/new">Start from a usual one</a></p>`;
  const noImport = html`<p>No file was imported yet. <a href="/console/imports/new">Import players</a></p>`;
  const live = "/console/live?list=campaigns&list=journeys&list=import_jobs";
  const content = html`${pauseNote(desk, state)}${players.rows.length === 0 ? firstSteps(desk) : ""}<div class="live" id="live" data-live="${live}">
<h2>Campaigns under way</h2>${tableOf("Campaigns under way", ["Campaign", "Channel", "Status", "Why", "Starts"], campaigns.rows.map(campaignRow(timezone)), none)}
<h2>Journeys</h2>${tableOf("Journeys", ["Journey", "Status", "Why", numbers("Version")], journeys.rows.map(journeyRow(timezone)), noJourney)}
<h2>Latest imports</h2>${importsTable(imports.rows, timezone, noImport)}
${providers.rows.length > 0 ? html`<h2>Providers</h2>${tableOf("Providers", ["Provider", "Channel", "Health", numbers("A second"), numbers("A day")], providers.rows.map(providerRow(timezone)), html``)}` : ""}
${webhooks.rows.length > 0 ? html`<h2>Webhooks that fail</h2>${tableOf("Webhooks that fail", ["Address", "Since", "Switched off because"], webhooks.rows.map(webhookRow(timezone)), html``)}` : ""}
</div>`;
  return consolePage(desk, {
    part: "/console",
    heading: "Now",
    states: html`<span id="pulse">live</span>`,
    actions: desk.canWrite && !state.paused ? pauseAll(desk) : "",
    content,
  });
}

/** Stops all sending of the property, or ends that. */
export async function actOnSending(desk: Desk, act: "pause" | "resume"): Promise<Response> {
  const reason = desk.form.get("reason")?.trim();
  await desk.run(`${act}_all_sending`, act === "pause" && reason ? { reason } : {});
  return redirect("/console");
}

function pauseAll(desk: Desk): Html {
  const filled = { values: {} };
  return html`<details class="ask"><summary>Pause all sending…</summary><div class="asked"><p>Every campaign stops at once, and scheduled ones wait. Replies to STOP still go out.</p>${formOf(
    desk,
    {
      action: "/console/sending/pause",
      filled,
      kind: "bare",
      content: html`${input(filled, { name: "reason", label: "Why", most: 500 })}<button class="grave">Pause all sending</button>`,
    },
  )}</div></details>`;
}

function pauseNote(desk: Desk, { paused, since, reason, campaigns }: SendingState): Html | "" {
  if (!paused) return "";
  const why = reason === null ? "" : `: ${reason}`;
  return html`<div class="note" role="status"><p><b>All sending is paused</b> since ${timeOf(since!, desk.property.timezone)}${why}. ${counted(campaigns, "campaign")} would go on.</p>${desk.canWrite ? actButton(desk, "/console/sending/resume", "Resume all sending", "") : ""}</div>`;
}

function firstSteps(desk: Desk): Html {
  if (!desk.canWrite)
    return html`<div class="empty"><p>There are no players yet. A manager imports them.</p></div>`;
  return html`<ol class="steps" aria-label="First steps"><li><a href="/console/imports/new">Import players</a></li><li><a href="/console/segments/new">Build a segment</a></li><li><a href="/console/campaigns/new">Make a campaign</a></li></ol>`;
}

function campaignRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/campaigns/${row.id}">${row.name}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.status))}</td><td>${shown(row.status_reason, timezone)}</td><td>${shown(row.scheduled_at, timezone)}</td></tr>`;
}

function journeyRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/journeys/${row.id}">${row.name}</a></th><td>${chip(String(row.status))}</td><td>${shown(row.status_reason, timezone)}</td><td class="number">${shown(row.current_version, timezone)}</td></tr>`;
}

function providerRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/records/message_providers/${row.id}">${row.name ?? row.kind}</a></th><td>${chip(String(row.channel))}</td><td>${shown(row.health, timezone)}</td><td class="number">${shown(row.rate_per_second, timezone)}</td><td class="number">${shown(row.daily_limit, timezone)}</td></tr>`;
}

function webhookRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/records/webhook_endpoints/${row.id}">${row.url}</a></th><td>${shown(row.failing_since, timezone)}</td><td>${shown(row.disabled_reason, timezone)}</td></tr>`;
}
