import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, tableOf } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { chip, fieldsOf, shown, timeOf } from "#transports/console/values.ts";
import { ledgerSection } from "./ledger.ts";

const PART = "/console/players";
/** A page of a print. */
const MOST_ENTRIES = 200;

/** The consent ledger of one player, to look at and to print for a regulator. */
export async function consentsPage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const id = c.req.param("id")!;
  const { timezone } = property;
  const [player, { rows, next }] = await Promise.all([
    desk.run("get_player", { id }),
    desk.list("consent_records", {
      filters: { "player_id.eq": id },
      order: "occurred_at.asc,id.asc",
      limit: MOST_ENTRIES,
      cursor: c.req.query("cursor") ?? "",
    }),
  ]);
  const path = `${PART}/${id}/consents`;
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row"><a href="${path}/${row.id}">${timeOf(String(row.occurred_at), timezone)}</a></th><td>${chip(String(row.channel))}</td><td>${shown(row.action, timezone)}</td><td>${shown(row.consent_level, timezone)}</td><td>${shown(row.consent_source, timezone)}<p class="soft">${row.consent_text ?? ""}</p></td><td>${shown(row.actor_type, timezone)}${row.collection_method === "mcp" ? html` <span class="soft">by an agent</span>` : ""}</td><td><code>${String(row.record_hash).slice(0, 16)}</code></td></tr>`,
  );
  const head = ["Time", "Channel", "Action", "Level", "Source and wording", "By", "Hash"];
  const empty = html`<p>Nothing is recorded: this player was never asked.</p>`;
  const content = html`<p class="screen"><a href="${PART}/${id}">The player</a>. To keep this page as a PDF, print it.</p><dl class="fields"><div><dt>Controller</dt><dd>${property.legal_name ?? property.name}</dd></div><div><dt>Player</dt><dd>${player.player_id ?? id}</dd></div><div><dt>Record</dt><dd>${id}</dd></div><div><dt>Made</dt><dd>${shown(new Date().toISOString(), timezone)}</dd></div></dl><h2>Entries of the consent ledger, oldest first</h2>${tableOf("Consents", head, lines, empty)}${onward(c, next)}<p class="soft">Entries are never changed; of a channel the last one counts. The hash is that of the ledger, shortened.</p>${await ledgerSection(desk, path)}`;
  return consolePage(desk, { part: PART, heading: `Consents of ${nameOf(player)}`, content });
}

/** One entry of the ledger, with its receipt. */
export async function receiptPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const consentId = desk.c.req.param("consent");
  const [consent, { receipt, jws }] = await Promise.all([
    desk.run("get_consent_record", { id: consentId }),
    desk.run<{ receipt: object; jws: string }>("consent_receipt", { playerId: id, consentId }),
  ]);
  const content = html`<p class="screen"><a href="${PART}/${id}/consents">All entries</a></p>${fieldsOf(consent, desk.property.timezone)}<h2>Receipt</h2><p>A Kantara consent receipt. The keys at <a href="/.well-known/jwks.json">/.well-known/jwks.json</a> verify its signature.</p><pre class="call" tabindex="0" role="region" aria-label="The receipt">${JSON.stringify(receipt, null, 2)}</pre><h3>Signature (detached JWS)</h3><pre class="call" tabindex="0" role="region" aria-label="The signature">${jws}</pre>`;
  return consolePage(desk, { part: PART, heading: "Consent", content });
}

function nameOf(player: Row): string {
  return String(
    player.player_id ?? ([player.first_name, player.last_name].filter(Boolean).join(" ") || "a player"),
  );
}
