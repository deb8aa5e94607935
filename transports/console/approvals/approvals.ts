import { html } from "hono/html";
import { type Desk, isAdmin, type Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { chosenIn, withChosen } from "#transports/console/preview/chosen.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { chip, shown, timeOf } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { count, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { actionsOf } from "./decide.ts";
import { previewSection, recordLink } from "./preview.ts";
import type { Previewed } from "./previewed.ts";

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
    ? [
        say().approvals.proposal,
        say().general.status,
        say().general.players,
        say().general.why,
        say().approvals.decidedBy,
        say().approvals.decided,
      ]
    : [
        say().approvals.proposal,
        say().general.from,
        say().general.players,
        say().approvals.proposed,
        say().approvals.waitsUntil,
      ];
  const lines = rows.map(isDecided ? decidedRow(property.timezone) : waitingRow(property.timezone));
  const empty = isDecided
    ? html`<p>${say().approvals.nothingHasBeenDecidedYet} <a href="${PART}">${say().approvals.whatWaits}</a></p>`
    : html`<p>${say().approvals.nothingWaitsForYou}</p><p>${limitsOf(desk)}${isAdmin(desk) ? html` <a href="/console/settings/limits">${say().limits.setThem}</a>.` : ""} <a href="/docs/agents">${say().approvals.theGuideToAgents}</a> ${say().approvals.saysHow}</p>`;
  const tab = (query: string, text: string, isShown: boolean) =>
    html`<li><a href="${PART}${query}"${isShown ? html` aria-current="true"` : ""}>${text}</a></li>`;
  const tabs = html`<ul class="filters" aria-label="${say().approvals.approvals}">${tab("", say().approvals.whatWaits, !isDecided)}${tab("?show=decided", say().approvals.whatWasDecided, isDecided)}</ul>`;
  const caption = isDecided ? say().approvals.decided : say().approvals.waitingForAPerson;
  const content = html`${tabs}<div class="live" id="live" data-live="/console/live?list=proposals">${tableOf(caption, head, lines, empty)}${onward(c, next)}</div>`;
  return consolePage(desk, { part: PART, heading: say().approvals.approvals, content });
}

/** One proposal: its effects as they were proposed, and its decision. Its effects as of now arrive behind the page. */
export async function approvalPage(desk: Desk): Promise<Response> {
  const proposal = await desk.run<Previewed["proposal"]>("get_proposal", { id: desk.c.req.param("id") });
  const { timezone } = desk.property;
  const isWaiting = proposal.status === "waiting";
  const said =
    desk.c.req.query("done") === undefined
      ? ""
      : html`<p class="said" role="status">${say().approvals.done}</p>`;
  const path = withChosen(`${PART}/${proposal.id}/preview`, await chosenIn(desk));
  const preview = isWaiting
    ? html`<div id="preview" data-part="${path}" data-renews aria-busy="true"><p><a class="button" href="${path}">${say().approvals.seeAsNowAndDecide}</a></p></div>`
    : recordLink(proposal);
  const content = html`<p><a href="${PART}">${say().approvals.allThatWaits}</a></p>${said}<div class="live" id="live" data-live="/console/live?list=proposals"><p>${chip(proposal.status)} ${say().approvals.proposedBy(timeOf(proposal.created_at, timezone), proposerOf(proposal), isWaiting ? html`${say().approvals.untilThen(timeOf(proposal.expires_at, timezone))}` : "")}</p>${endOf(proposal, timezone)}</div>${factsOf(proposal)}${preview}<details><summary>${say().approvals.theCallItself}</summary><dl class="fields"><div><dt>${say().approvals.operation}</dt><dd>${proposal.tool}</dd></div><div><dt>${say().approvals.sha256WhatYouSee}</dt><dd><code>${proposal.shown_hash}</code></dd></div></dl><pre class="call" tabindex="0" role="region" aria-label="${say().approvals.argumentsCall}">${JSON.stringify(proposal.input, null, 2)}</pre></details>`;
  return consolePage(desk, { part: PART, heading: proposal.title, isEnglish: true, content, frames: true });
}

/** A waiting proposal as it would be now, and the decision: a part of its page, or by itself without scripts. */
export async function previewPage(desk: Desk): Promise<Response> {
  const proposalId = desk.c.req.param("id");
  const chosen = await chosenIn(desk);
  const previewed = await desk.run<Previewed>("preview_proposal", { proposalId, ...chosen });
  const { proposal, stale } = previewed;
  const changed =
    stale.length > 0
      ? html`<div class="wrong" role="alert"><p>${say().approvals.cannotBeApprovedThisHas}</p><ul>${stale.map((part) => html`<li>${inEnglish(part)}</li>`)}</ul></div>`
      : "";
  return consolePage(desk, {
    part: PART,
    above: { path: `${PART}/${proposal.id}`, name: proposal.title },
    heading: say().approvals.asItIsNow,
    content: html`${factsOf(proposal)}<div id="preview"><div class="two aside"><div>${changed}${await previewSection(desk, previewed, chosen)}</div>${actionsOf(desk, previewed)}</div></div>`,
    frames: true,
  });
}

/** The effect of the call, and the reasons for asking a person. */
function factsOf({ sentences, reasons }: Previewed["proposal"]): Html {
  return html`<h2>${say().approvals.whatItWouldDo}</h2><ul class="facts">${sentences.map((text) => html`<li>${inEnglish(text)}</li>`)}</ul><h2>${say().approvals.whyPersonAsked}</h2><ul>${reasons.map((text) => html`<li>${inEnglish(text)}</li>`)}</ul>`;
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

function limitsOf({ property }: Desk): string {
  const { approval_over_players: players, approval_over_cost: cost } = property;
  if (players === null && cost === null) {
    return say().approvals.noLimits;
  }
  const limits = [
    ...(players === null ? [] : [say().approvals.overPlayers(count(players))]),
    ...(cost === null ? [] : [say().approvals.overCost(count(cost))]),
  ];
  return say().approvals.limits(limits.join(say().approvals.or));
}

function waitingRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${inEnglish(String(row.title))}</a><p class="soft">${inEnglish((row.sentences as string[])[0]!)}</p></th><td>${proposerOf(row as Row & Previewed["proposal"])}</td><td class="number">${playersOf(row)}</td><td>${timeOf(String(row.created_at), timezone)}</td><td>${timeOf(String(row.expires_at), timezone)}</td></tr>`;
}

function decidedRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${inEnglish(String(row.title))}</a><p class="soft">${inEnglish((row.sentences as string[])[0]!)}</p></th><td>${chip(String(row.status))}</td><td class="number">${playersOf(row)}</td><td>${shown(row.reason, timezone)}</td><td>${shown(row.decided_by_email, timezone)}</td><td>${shown(row.decided_at, timezone)}<p class="soft"><code>${String(row.shown_hash).slice(0, 16)}</code></p></td></tr>`;
}

function playersOf({ players }: Row): string {
  return players === null ? say().approvals.noLimit : count(Number(players));
}

const WAYS_IN: ReadonlySet<string> = new Set(["rest", "mcp", "cli", "page"]);

function proposerOf({ proposed_by, client }: Pick<Previewed["proposal"], "proposed_by" | "client">): string {
  const proposers: Readonly<Record<string, string>> = say().approvals.proposers;
  const by = proposers[proposed_by.type] ?? proposed_by.type;
  // A program that gives no name is known by its way in, which says nothing to people.
  return client && !WAYS_IN.has(client) ? say().approvals.clientWith(client, by) : by;
}

/** The decision: its person, time, reason and hash, and its result. */
function endOf(proposal: Previewed["proposal"], timezone: string): Html | "" {
  const { id, status, reason, decided_at, decided_by_email, shown_hash, result } = proposal;
  if (status === "waiting" || decided_at === null) return "";
  const words = say().approvals;
  const page = result?.entity === "campaigns" || result?.entity === "journeys" ? result : null;
  const link = page ? html` <a href="/console/${page.entity}/${page.entity_id}">${words.lookAtIt}</a>` : "";
  const line = (name: string, value: Html | string) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  const audit = `/console/records/audit_logs?column=entity_id&operator=eq&value=${id}`;
  return html`<section class="pane" aria-label="${words.theDecision}"><h2>${words.theDecision}</h2><dl class="fields">${line(say().general.status, chip(status))}${decided_by_email === null ? "" : line(words.decidedBy, decided_by_email)}${line(words.decided, timeOf(decided_at, timezone))}${reason ? line(say().general.reason, decided_by_email === null || status === "stale" ? inEnglish(reason) : reason) : ""}${line(words.sha256Shown, html`<code>${shown_hash}</code>`)}</dl><p class="ways"><a href="${audit}">${words.inTheAuditLog}</a>${link}</p></section>`;
}
