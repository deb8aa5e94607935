import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { fieldsOf } from "#transports/console/records/fields.ts";
import { chip, labelOf, shown, timeOf } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
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
      html`<tr><th scope="row"><a href="${path}/${row.id}">${timeOf(String(row.occurred_at), timezone)}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.action))}</td><td>${shown(row.consent_level && labelOf(String(row.consent_level)), timezone)}</td><td>${shown(row.consent_source, timezone)}<p class="soft">${row.consent_text ?? ""}</p></td><td>${labelOf(String(row.actor_type))}${row.collection_method === "mcp" ? html` <span class="soft">${say().compliance.byAnAgent}</span>` : ""}</td><td><code>${String(row.record_hash).slice(0, 16)}</code></td></tr>`,
  );
  const head = [
    say().general.time,
    say().general.channel,
    say().general.action,
    say().compliance.level,
    say().compliance.sourceAndWording,
    say().compliance.by,
    say().compliance.hash,
  ];
  const empty = html`<p>${say().compliance.nothingRecordedThisPlayerWas} <a href="/docs/consent-and-compliance">${say().compliance.theGuideToConsents}</a></p>`;
  const content = html`<p class="screen"><a href="${PART}/${id}">${say().general.thePlayer}</a>${say().compliance.toKeepThisPageAs}</p><dl class="fields"><div><dt>${say().compliance.controller}</dt><dd>${property.legal_name ?? property.name}</dd></div><div><dt>${say().general.player}</dt><dd>${player.player_id ?? id}</dd></div><div><dt>${say().general.record}</dt><dd>${id}</dd></div><div><dt>${say().general.made}</dt><dd>${shown(new Date().toISOString(), timezone)}</dd></div></dl><h2>${say().compliance.entriesConsentLedgerOldest}</h2>${tableOf(say().general.consents, head, lines, empty)}${onward(c, next)}<p class="soft">${say().compliance.entriesAreNeverChangedChannel}</p>${await ledgerSection(desk, path)}`;
  return consolePage(desk, { part: PART, heading: say().compliance.consentsOf(nameOf(player)), content });
}

/** One entry of the ledger, with its receipt. */
export async function receiptPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const consentId = desk.c.req.param("consent");
  const [consent, { receipt, jws }] = await Promise.all([
    desk.run("get_consent_record", { id: consentId }),
    desk.run<{ receipt: object; jws: string }>("consent_receipt", { playerId: id, consentId }),
  ]);
  const content = html`<p class="screen"><a href="${PART}/${id}/consents">${say().compliance.allEntries}</a></p>${fieldsOf(consent, desk.property.timezone)}<h2>${say().compliance.receipt}</h2><p>${say().compliance.kantaraConsentReceiptKeysAt} <a href="/.well-known/jwks.json">/.well-known/jwks.json</a> ${say().compliance.verifyItsSignature}</p><pre class="call" tabindex="0" role="region" aria-label="${say().compliance.theReceipt}">${JSON.stringify(receipt, null, 2)}</pre><h3>${say().compliance.signatureDetachedJws}</h3><pre class="call" tabindex="0" role="region" aria-label="${say().compliance.theSignature}">${jws}</pre>`;
  return consolePage(desk, { part: PART, heading: say().general.consent, content });
}

function nameOf(player: Row): string {
  return String(
    player.player_id ??
      ([player.first_name, player.last_name].filter(Boolean).join(" ") || say().compliance.aPlayer),
  );
}
