import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { fieldsOf } from "#transports/console/records/fields.ts";
import { labelOf, shown, timeOf } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";

const PART = "/console/players";

interface Evidence {
  send: Row;
  consent: Row | null;
  campaign: { id: string; name: string; subject: string | null; approved: Row | null } | null;
  acts: (Row & { actor: { type: string; id: string | null } })[];
}

/** The evidence of one message: its record, the consent in force, the approval, and who did what. */
export async function messagePage(desk: Desk): Promise<Response> {
  const { timezone } = desk.property;
  const sendId = desk.c.req.param("id");
  const { send, consent, campaign, acts } = await desk.run<Evidence>("send_evidence", { sendId });
  const lines = acts.map(
    (act) =>
      html`<tr><th scope="row">${timeOf(String(act.at), timezone)}</th><td>${act.action}</td><td>${labelOf(act.actor.type)} <span class="soft">${act.client ?? ""}</span></td><td>${shown(act.actor.id, timezone)}</td><td><code>${String(act.record_hash).slice(0, 16)}</code></td></tr>`,
  );
  const consented = consent
    ? html`<p>${say().compliance.newestEntryBeforeMessage} <a href="${PART}/${consent.player_id}/consents/${consent.id}">${say().compliance.itsReceipt}</a></p>${fieldsOf(consent, timezone)}`
    : html`<p>${say().compliance.noConsentInForce}</p>`;
  const about = campaign
    ? html`<p><a href="/console/campaigns/${campaign.id}">${campaign.name}</a>${campaign.subject ? html`: ${campaign.subject}` : ""}</p>${campaign.approved ? fieldsOf(campaign.approved, timezone) : ""}`
    : html`<p>${say().compliance.belongsToNoCampaignTest}</p>`;
  const content = html`<h2>${say().compliance.theMessage}</h2>${fieldsOf(send, timezone)}<h2>${say().compliance.consentInForce}</h2>${consented}<h2>${say().compliance.campaignAndItsApproval}</h2>${about}<h2>${say().compliance.whoDidWhat}</h2>${tableOf(say().compliance.auditLog, [say().general.time, say().general.action, say().compliance.by, say().compliance.actor, say().compliance.hash], lines, html`<p>${say().compliance.auditLogHasNothingAbout}</p>`)}`;
  return consolePage(desk, { part: PART, heading: say().compliance.evidenceOfOneMessage, content });
}
