import { html } from "hono/html";
import { CHANNELS } from "#tools/compliance/channels.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Desk, Row } from "./desk.ts";
import { consolePage, tableOf } from "./frame.ts";
import { onward } from "./paging.ts";
import { chip, fieldsOf, shown, timeOf, words } from "./values.ts";

/** The players, newest first, or those with one player id, email or phone. */
export async function playersPage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const wanted = (c.req.query("q") ?? "").trim();
  const { rows, next } = await desk.list("players", {
    filters: wanted === "" ? {} : { [`${columnOf(wanted)}.eq`]: wanted },
    order: "created_at.desc,id.desc",
    limit: 50,
    cursor: c.req.query("cursor") ?? "",
  });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row"><a href="/console/players/${row.id}">${row.player_id ?? row.email ?? row.id}</a></th><td>${[row.first_name, row.last_name].filter(Boolean).join(" ")}</td><td>${shown(row.email, "")}</td><td>${shown(row.phone, "")}</td><td>${shown(row.tier, "")}</td><td>${chip(String(row.status))}</td><td>${timeOf(String(row.created_at), property.timezone)}</td></tr>`,
  );
  const empty =
    wanted === ""
      ? html`<p>There are no players yet. <a href="/docs/players-and-imports">The guide to imports</a> brings them in.</p>`
      : html`<p>No player has ${wanted}. Give the whole player id, email or phone.</p>`;
  const head = ["Player", "Name", "Email", "Phone", "Tier", "Status", "Since"];
  const content = html`<form class="search" method="get" action="/console/players" role="search"><label for="q">Player id, email or phone</label><input id="q" name="q" type="search" maxlength="320" value="${wanted}"><button class="small">Find</button></form>${tableOf("Players", head, lines, empty)}${onward(c, next)}`;
  return consolePage(desk, { part: "/console/players", heading: "Players", content });
}

/** An index leads to each of the three columns. */
function columnOf(wanted: string): string {
  if (wanted.includes("@")) return "email";
  return /^\+[\d\s().-]{7,}$/.test(wanted) ? "phone" : "player_id";
}

interface Verdict {
  channel: string;
  allowed: boolean;
  defer: { reasons: string[]; retry_at: string | null } | null;
  rules: { rule: string; result: string; meaning: string }[];
}

/** One player: whether each channel may be used and why not, the consents, the messages, and the record. */
export async function playerPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const { timezone } = desk.property;
  const player = await desk.run("get_player", { id });
  const about = { filters: { "player_id.eq": id }, limit: 20 };
  const [consents, sends, ...verdicts] = await Promise.all([
    desk.list("consent_records", { ...about, order: "occurred_at.desc" }),
    desk.list("campaign_sends", { ...about, order: "created_at.desc" }),
    ...[...CHANNELS, "inbox"].map((channel) =>
      desk.run<Verdict>("explain_eligibility", { playerId: id, channel }),
    ),
  ]);
  const consentRows = consents.rows.map(
    (row) =>
      html`<tr><th scope="row">${timeOf(String(row.occurred_at), timezone)}</th><td>${chip(String(row.channel))}</td><td>${shown(row.action, timezone)}</td><td>${shown(row.consent_source, timezone)}</td><td>${shown(row.consent_text, timezone)}</td></tr>`,
  );
  const content = html`<h2>May we contact this player?</h2>${tableOf("Verdicts by channel", ["Channel", "Verdict", "Why"], verdicts.map(verdictRow(timezone)), html``)}
<h2>Consents</h2><p><a href="/console/players/${id}/consents">All of them, to print for a regulator</a></p>${tableOf("Consents", ["Time", "Channel", "Action", "Source", "Text"], consentRows, html`<p>Nothing is recorded: this player was never asked.</p>`)}
<h2>Messages</h2>${tableOf("Messages", ["Made", "Campaign", "Channel", "Status", "Why not"], sends.rows.map(sendRow(timezone)), html`<p>This player has got no message.</p>`)}
<h2>Record</h2>${fieldsOf(player, timezone)}`;
  const name = [player.first_name, player.last_name].filter(Boolean).join(" ");
  const heading = name || String(player.player_id ?? "Player");
  return consolePage(desk, { part: "/console/players", heading, content });
}

function verdictRow(timezone: string) {
  return ({ channel, allowed, defer, rules }: Verdict): Html => {
    const bars = rules.filter(({ result }) => result === "blocks");
    const waits =
      defer && html`<p>Waits${defer.retry_at ? html` until ${timeOf(defer.retry_at, timezone)}` : ""}.</p>`;
    const verdict = allowed ? (defer ? "later" : "yes") : "no";
    return html`<tr><th scope="row">${words(channel)}</th><td>${chip(verdict)}</td><td>${bars.map(({ meaning }) => html`<p>${meaning}</p>`)}${allowed && waits ? waits : ""}</td></tr>`;
  };
}

function sendRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/messages/${row.id}">${timeOf(String(row.created_at), timezone)}</a></th><td>${row.campaign_id ? html`<a href="/console/campaigns/${row.campaign_id}">Campaign</a>` : "a test"}</td><td>${chip(String(row.channel))}</td><td>${chip(String(row.status))}</td><td>${(row.skip_reasons as string[]).map((reason) => words(reason)).join(", ") || shown(row.error_message, timezone)}</td></tr>`;
}
