import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Desk, Row } from "./desk.ts";
import { actButton, formOf, input } from "./fields.ts";
import { consolePage, firstStep } from "./frame.ts";
import { importsTable } from "./imports/list.ts";
import { redirect } from "./signed-out.ts";
import { chip, shown, statusReason, timeOf } from "./values.ts";
import { numbers, tableOf } from "./views/parts.js";
import { counted, say } from "./words/say.ts";

const MOVING = ["sending", "queued", "paused", "scheduled", "failed"];

interface SendingState {
  paused: boolean;
  since: string | null;
  reason: string | null;
  campaigns: number;
  service: "open" | "held" | "off";
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
  const none = html`<p>${say().now.nothingSendsAndNothingWaits}</p><p><a class="button quiet" href="/console/campaigns">${say().general.seeAllCampaigns}</a></p>`;
  const noJourney = html`<p>${say().now.noJourneyRuns}</p>${firstStep(desk, "/console/journeys/new", say().now.startFromUsualOne)}`;
  const noImport = html`<p>${say().now.noFileWasImportedYet}</p>${firstStep(desk, "/console/imports/new", say().general.importPlayers)}`;
  const live = "/console/live?list=campaigns&list=journeys&list=import_jobs";
  const content = html`${serviceNote(state)}${pauseNote(desk, state)}${players.rows.length === 0 ? firstSteps(desk) : ""}<div class="live" id="live" data-live="${live}">
<h2>${say().now.campaignsUnderWay}</h2>${tableOf(say().now.campaignsUnderWay, [say().general.campaign, say().general.channel, say().general.status, say().general.why, say().general.starts], campaigns.rows.map(campaignRow(timezone)), none)}
<h2>${say().general.journeys}</h2>${tableOf(say().general.journeys, [say().general.journey, say().general.status, say().general.why, numbers(say().general.version)], journeys.rows.map(journeyRow(timezone)), noJourney)}
<h2>${say().now.latestImports}</h2>${importsTable(imports.rows, timezone, noImport)}
${providers.rows.length > 0 ? html`<h2>${say().general.providers}</h2>${tableOf(say().general.providers, [say().now.provider, say().general.channel, say().now.health, numbers(say().now.aSecond), numbers(say().now.aDay)], providers.rows.map(providerRow(timezone)), html``)}` : ""}
${webhooks.rows.length > 0 ? html`<h2>${say().now.webhooksThatFail}</h2>${tableOf(say().now.webhooksThatFail, [say().now.address, say().general.since, say().now.switchedOffBecause], webhooks.rows.map(webhookRow(timezone)), html``)}` : ""}
</div>`;
  return consolePage(desk, {
    part: "/console",
    heading: say().now.now,
    states: html`<span id="pulse">${say().general.live}</span>`,
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
  return html`<details class="ask"><summary>${say().now.pauseAllOpens}</summary><div class="asked"><p>${say().now.everyCampaignStopsAtOnce}</p>${formOf(
    desk,
    {
      action: "/console/sending/pause",
      filled,
      kind: "bare",
      content: html`${input(filled, { name: "reason", label: say().general.why, most: 500 })}<button class="grave">${say().now.pauseAllSending}</button>`,
    },
  )}</div></details>`;
}

/** The operator's reasons why nothing goes out. */
function serviceNote({ service }: SendingState): Html | "" {
  if (service === "open") return "";
  const words = service === "held" ? say().now.sendingIsHeld : say().now.sendingIsOff;
  return html`<div class="note" role="status"><p><b>${say().now.nothingGoesOut}</b> ${words}</p></div>`;
}

function pauseNote(desk: Desk, { paused, since, reason, campaigns }: SendingState): Html | "" {
  if (!paused) return "";
  const why = reason === null ? "" : `: ${reason}`;
  return html`<div class="note" role="status"><p><b>${say().now.allSendingIsPaused}</b> ${say().now.pausedSince(timeOf(since!, desk.property.timezone), why, counted(campaigns, "campaign"))}</p>${desk.canWrite ? actButton(desk, "/console/sending/resume", say().now.resumeAllSending, "") : ""}</div>`;
}

function firstSteps(desk: Desk): Html {
  if (!desk.canWrite) return html`<div class="empty"><p>${say().now.thereAreNoPlayersYet}</p></div>`;
  return html`<ol class="steps" aria-label="${say().now.firstSteps}"><li><a href="/console/imports/new">${say().general.importPlayers}</a></li><li><a href="/console/segments/new">${say().general.buildASegment}</a></li><li><a href="/console/campaigns/new">${say().now.makeACampaign}</a></li></ol>`;
}

function campaignRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/campaigns/${row.id}">${row.name}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.status))}</td><td>${statusReason(row)}</td><td>${shown(row.scheduled_at, timezone)}</td></tr>`;
}

function journeyRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/journeys/${row.id}">${row.name}</a></th><td>${chip(String(row.status))}</td><td>${statusReason(row)}</td><td class="number">${shown(row.current_version, timezone)}</td></tr>`;
}

function providerRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/records/message_providers/${row.id}">${row.name ?? row.kind}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.health))}</td><td class="number">${shown(row.rate_per_second, timezone)}</td><td class="number">${shown(row.daily_limit, timezone)}</td></tr>`;
}

function webhookRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/records/webhook_endpoints/${row.id}">${row.url}</a></th><td>${shown(row.failing_since, timezone)}</td><td>${shown(row.disabled_reason, timezone)}</td></tr>`;
}
