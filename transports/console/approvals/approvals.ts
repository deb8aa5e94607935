import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, tableOf } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { redirect } from "#transports/console/sign-in.ts";
import { chip, shown, timeOf } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { actionsOf } from "./decide.ts";
import { type Previewed, previewSection, recordLink } from "./preview.ts";

const PART = "/console/approvals";

/** The calls that wait for a person, the oldest first, or those that are decided. */
export async function approvalsPage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const isDecided = c.req.query("show") === "decided";
  const { rows, next } = await desk.list("proposals", {
    filters: isDecided ? { "status.neq": "waiting" } : { "status.eq": "waiting" },
    order: isDecided ? "created_at.desc,id.desc" : "created_at.asc,id.asc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const head = isDecided
    ? ["Proposal", "Status", "Players", "Why", "Decided"]
    : ["Proposal", "From", "Players", "Proposed", "Waits until"];
  const lines = rows.map(isDecided ? decidedRow(property.timezone) : waitingRow(property.timezone));
  const empty = isDecided
    ? html`<p>Nothing has been decided yet.</p>`
    : html`<p>Nothing waits for you.</p><p>${limitsOf(desk)} <a href="/docs/agents">The guide to agents</a> says how.</p>`;
  const other = isDecided
    ? html`<a href="${PART}">What waits</a>`
    : html`<a href="${PART}?show=decided">What was decided</a>`;
  const caption = isDecided ? "Decided" : "Waiting for a person";
  const content = html`<p>${other}</p><div class="live" id="live" data-live="/console/live?list=proposals">${tableOf(caption, head, lines, empty)}${onward(c, next)}</div>`;
  return consolePage(desk, { part: PART, heading: "Approvals", content });
}

/** One proposal: what it would do, as it was proposed, and its decision. What it would do now arrives behind the page. */
export async function approvalPage(desk: Desk): Promise<Response> {
  const proposal = await desk.run<Previewed["proposal"]>("get_proposal", { id: desk.c.req.param("id") });
  const { timezone } = desk.property;
  const isWaiting = proposal.status === "waiting";
  const said = desk.c.req.query("done") === undefined ? "" : html`<p class="said" role="status">${DONE}</p>`;
  const path = `${PART}/${proposal.id}/preview`;
  const preview = isWaiting
    ? html`<div id="preview" data-part="${path}" aria-busy="true"><p><a class="button" href="${path}">See it as it is now, and decide</a></p></div>`
    : recordLink(proposal);
  const content = html`<p><a href="${PART}">All that waits</a></p>${said}<p>${chip(proposal.status)} proposed ${timeOf(proposal.created_at, timezone)} by ${proposerOf(proposal)}${isWaiting ? html`, waits until ${timeOf(proposal.expires_at, timezone)}` : ""}.</p>${endOf(proposal, timezone)}<h2>What it would do</h2><ul class="facts">${proposal.sentences.map((text) => html`<li>${text}</li>`)}</ul><h2>Why a person is asked</h2><ul>${proposal.reasons.map((text) => html`<li>${text}</li>`)}</ul>${preview}<details><summary>The call itself</summary><dl class="fields"><div><dt>Operation</dt><dd>${proposal.tool}</dd></div><div><dt>SHA-256 of what you see</dt><dd><code>${proposal.shown_hash}</code></dd></div></dl><pre class="call" tabindex="0" role="region" aria-label="The arguments of the call">${JSON.stringify(proposal.input, null, 2)}</pre></details>`;
  return consolePage(desk, { part: PART, heading: proposal.title, content, frames: true });
}

/** A waiting proposal as it would be now, and the decision: a part of its page, or by itself without scripts. */
export async function previewPage(desk: Desk): Promise<Response> {
  const proposalId = desk.c.req.param("id");
  const previewed = await desk.run<Previewed>("preview_proposal", { proposalId });
  const { proposal, stale } = previewed;
  const changed =
    stale.length > 0
      ? html`<div class="wrong" role="alert"><p>It cannot be approved: this has changed since it was proposed.</p><ul>${stale.map((part) => html`<li>${part}</li>`)}</ul></div>`
      : "";
  return consolePage(desk, {
    part: PART,
    above: { path: `${PART}/${proposal.id}`, name: proposal.title },
    heading: "As it is now",
    content: html`<div id="preview">${changed}${previewSection(previewed)}${actionsOf(desk, previewed)}</div>`,
    frames: true,
  });
}

/** Approves or refuses, and shows the proposal as it is then. */
export async function decide(desk: Desk, decision: "approve" | "refuse"): Promise<Response> {
  const proposalId = desk.c.req.param("id");
  const input =
    decision === "approve"
      ? { proposalId, shownHash: desk.form.get("shown") ?? "" }
      : { proposalId, reason: desk.form.get("reason") ?? "" };
  await desk.run(`${decision}_proposal`, { ...input, propertyId: desk.property.id });
  return redirect(`${PART}/${proposalId}?done=yes`);
}

const DONE = "Done. The agent has been told.";

function limitsOf({ property }: Desk): string {
  const { approval_over_players: players, approval_over_cost: cost } = property;
  if (players === null && cost === null) {
    return "This property has no limits, so agents act without approval. An admin sets approval_over_players or approval_over_cost.";
  }
  const limits = [
    ...(players === null ? [] : [`${players.toLocaleString("en-US")} players`]),
    ...(cost === null ? [] : [`a cost of ${cost.toLocaleString("en-US")}`]),
  ];
  return `What agents and keys do above ${limits.join(" or ")} in 24 hours comes here first.`;
}

function waitingRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.title}</a><p class="soft">${(row.sentences as string[])[0]}</p></th><td>${proposerOf(row as unknown as Previewed["proposal"])}</td><td class="number">${playersOf(row)}</td><td>${timeOf(String(row.created_at), timezone)}</td><td>${timeOf(String(row.expires_at), timezone)}</td></tr>`;
}

function decidedRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.title}</a><p class="soft">${(row.sentences as string[])[0]}</p></th><td>${chip(String(row.status))}</td><td class="number">${playersOf(row)}</td><td>${shown(row.reason, timezone)}</td><td>${shown(row.decided_at, timezone)}</td></tr>`;
}

function playersOf({ players }: Row): string {
  return players === null ? "no limit" : Number(players).toLocaleString("en-US");
}

const PROPOSERS: Readonly<Record<string, string>> = {
  api_key: "an API key",
  user: "a user's agent",
  system: "the command line",
};

const WAYS_IN: ReadonlySet<string> = new Set(["rest", "mcp", "cli", "page"]);

function proposerOf({ proposed_by, client }: Pick<Previewed["proposal"], "proposed_by" | "client">): string {
  const by = PROPOSERS[proposed_by.type] ?? proposed_by.type;
  // A program that gives no name is known by its way in, which says nothing to people.
  return client && !WAYS_IN.has(client) ? `${client}, with ${by}` : by;
}

function endOf({ status, reason, decided_at, result }: Previewed["proposal"], timezone: string): Html | "" {
  if (status === "waiting" || decided_at === null) return "";
  const page = result?.entity === "campaigns" || result?.entity === "journeys" ? result : null;
  const link = page ? html` <a href="/console/${page.entity}/${page.entity_id}">Look at it</a>` : "";
  return html`<p>${chip(status)} ${timeOf(decided_at, timezone)}${reason ? `: ${reason}` : ""}.${link}</p>`;
}
