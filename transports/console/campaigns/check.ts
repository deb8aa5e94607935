import { html } from "hono/html";
import type { Preflight } from "#tools/campaigns/preflight/preflight.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { askButton, type Filled, formOf, input, tick } from "#transports/console/fields.ts";
import { readerOf } from "#transports/console/reader.ts";
import { countedNow } from "#transports/console/values.ts";
import { render } from "#transports/console/views/preflight_campaign.js";
import { counted, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { testedNote, testForm } from "./test-send.ts";

type Checked = Preflight & { fingerprint: string };

/** The link from the message to its check. */
export function checkLink(): Html {
  return html`<div class="acts last"><a class="button" href="?check=yes">${say().report.checkBeforeSending}</a></div>`;
}

/** The check of a campaign before it goes: who gets it, who does not, its cost, a test, and the sending. */
export async function checkSection(desk: Desk, campaign: Row, filled: Filled): Promise<Html> {
  const result = await desk.run<Checked>("preflight_campaign", { campaignId: campaign.id });
  const { channel } = campaign;
  const checked = render(result, readerOf(desk), { campaignId: String(campaign.id), channel });
  const acts = desk.canWrite
    ? sending(desk, campaign, result, filled)
    : html`<p class="soft">${say().report.aManagerSendsIt}</p>`;
  return html`${testedNote(desk, campaign)}<div class="two aside"><section>${checked}${countedNow(desk.property.timezone)}</section><section>${acts}</section></div>`;
}

function sending(desk: Desk, campaign: Row, { ok, allowed, fingerprint }: Checked, filled: Filled): Html {
  const path = `/console/campaigns/${campaign.id}`;
  const test = testForm(desk, campaign, filled);
  if (!ok)
    return html`<div class="pane">${test}<h2>${say().report.send}</h2><p>${say().report.mendWhatStandsAboveFirst}</p></div>`;
  const seen = html`<input type="hidden" name="fingerprint" value="${fingerprint}">`;
  const messages = counted(allowed, "message");
  const later = formOf(desk, {
    action: `${path}/schedule`,
    filled: { values: campaign },
    kind: "bare",
    content: html`${seen}${input({ values: {} }, { name: "scheduled_at", label: say().report.timeByClockOf(desk.property.timezone), type: "datetime-local", isRequired: true })}${tick({ values: campaign }, { name: "send_in_player_timezone", label: say().report.atThisHourEachPlayers })}<button class="quiet small">${say().report.schedule}</button>`,
  });
  const now = askButton(desk, {
    action: `${path}/send`,
    text: say().report.sendNow,
    question: say().report.messagesGoOut(messages),
    yes: say().report.sendMessages(messages),
    kind: "",
    fields: seen,
  });
  return html`<div class="pane">${test}<h2>${say().report.send}</h2>${now}<h2>${say().report.orLater}</h2>${later}</div>`;
}
