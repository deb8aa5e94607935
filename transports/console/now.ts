import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Desk, Row } from "./desk.ts";
import { consolePage, tableOf } from "./frame.ts";
import { chip, shown } from "./values.ts";

const MOVING = ["sending", "queued", "paused", "scheduled", "failed"];

/** The first page: the campaigns that move, the journeys that run, the imports, and the webhooks that fail. */
export async function nowPage(desk: Desk): Promise<Response> {
  const [campaigns, journeys, imports, webhooks] = await Promise.all([
    desk.list("campaigns", { filters: { "status.in": MOVING }, order: "updated_at.desc", limit: 20 }),
    desk.list("journeys", { filters: { "status.in": ["active", "paused"] }, order: "name", limit: 20 }),
    desk.list("import_jobs", { order: "created_at.desc", limit: 5 }),
    desk.list("webhook_endpoints", { filters: { "failing_since.not.is": "null" }, limit: 20 }),
  ]);
  const { timezone } = desk.property;
  const content = html`<div class="live" id="live" data-live>
<h2>Campaigns under way</h2>${tableOf("Campaigns under way", ["Campaign", "Channel", "Status", "Why", "Starts"], campaigns.rows.map(campaignRow(timezone)), html`<p>Nothing sends and nothing waits.</p><p><a href="/console/campaigns">See all campaigns</a></p>`)}
<h2>Journeys</h2>${tableOf("Journeys", ["Journey", "Status", "Why", "Version"], journeys.rows.map(journeyRow(timezone)), html`<p>No journey runs. <a href="/docs/journeys">The guide to journeys</a> makes the first one.</p>`)}
<h2>Latest imports</h2>${tableOf("Latest imports", ["Status", "Rows", "Done", "Refused", "Started"], imports.rows.map(importRow(timezone)), html`<p>No file was imported. <a href="/docs/players-and-imports">The guide to imports</a> brings the first players in.</p>`)}
${webhooks.rows.length > 0 ? html`<h2>Webhooks that fail</h2>${tableOf("Webhooks that fail", ["Address", "Since", "Switched off because"], webhooks.rows.map(webhookRow(timezone)), html``)}` : ""}
</div>`;
  return consolePage(desk, { part: "/console", heading: "Now", content });
}

function campaignRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/campaigns/${row.id}">${row.name}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.status))}</td><td>${shown(row.status_reason, timezone)}</td><td>${shown(row.scheduled_at, timezone)}</td></tr>`;
}

function journeyRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/journeys/${row.id}">${row.name}</a></th><td>${chip(String(row.status))}</td><td>${shown(row.status_reason, timezone)}</td><td>${shown(row.current_version, timezone)}</td></tr>`;
}

function importRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/records/import_jobs/${row.id}">${row.status}</a></th><td>${shown(row.total, timezone)}</td><td>${shown(row.processed, timezone)}</td><td>${shown(row.failed, timezone)}</td><td>${shown(row.started_at, timezone)}</td></tr>`;
}

function webhookRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/records/webhook_endpoints/${row.id}">${row.url}</a></th><td>${shown(row.failing_since, timezone)}</td><td>${shown(row.disabled_reason, timezone)}</td></tr>`;
}
