import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage, tableOf } from "#transports/console/frame.ts";
import { fieldsOf, shown, timeOf } from "#transports/console/values.ts";

const PART = "/console/players";

interface Evidence {
  send: Row;
  consent: Row | null;
  campaign: { id: string; name: string; subject: string | null; approved: Row | null } | null;
  acts: Row[];
}

/** The evidence of one message: its record, the consent in force, the approval, and who did what. */
export async function messagePage(desk: Desk): Promise<Response> {
  const { timezone } = desk.property;
  const sendId = desk.c.req.param("id");
  const { send, consent, campaign, acts } = await desk.run<Evidence>("send_evidence", { sendId });
  const lines = acts.map(
    (act) =>
      html`<tr><th scope="row">${timeOf(String(act.at), timezone)}</th><td>${act.action}</td><td>${act.actor_type} <span class="soft">${act.client ?? ""}</span></td><td>${shown(act.actor_id, timezone)}</td><td><code>${String(act.record_hash).slice(0, 16)}</code></td></tr>`,
  );
  const consented = consent
    ? html`<p>The newest entry before the message. <a href="${PART}/${consent.player_id}/consents/${consent.id}">Its receipt</a></p>${fieldsOf(consent, timezone)}`
    : html`<p>There is none: the channel or the property's setting needed none, the message did not go, or the person is erased.</p>`;
  const about = campaign
    ? html`<p><a href="/console/campaigns/${campaign.id}">${campaign.name}</a>${campaign.subject ? html`: ${campaign.subject}` : ""}</p>${campaign.approved ? fieldsOf(campaign.approved, timezone) : ""}`
    : html`<p>It belongs to no campaign: it is a test.</p>`;
  const content = html`<h2>The message</h2>${fieldsOf(send, timezone)}<h2>Consent in force</h2>${consented}<h2>Campaign, and its approval</h2>${about}<h2>Who did what</h2>${tableOf("Audit log", ["Time", "Action", "By", "Actor", "Hash"], lines, html`<p>The audit log has nothing about it.</p>`)}`;
  return consolePage(desk, { part: PART, heading: "Evidence of one message", content });
}
