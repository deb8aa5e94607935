import { html } from "hono/html";
import { CHANNELS } from "#tools/compliance/channels.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { fieldsOf } from "#transports/console/records/fields.ts";
import { chip, labelOf, shown, timeOf, words as titled } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";
import { personalSection } from "./personal.ts";
import { timelineSection } from "./timeline.ts";
import { verdictsSection } from "./verdicts.ts";

/** One player: whether each channel may be used and why not, the consents, the history, the record and the person's rights. */
export async function playerPage(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id")!;
  const player = await desk.run("get_player", { id });
  const [verdicts, consents, timeline] = await Promise.all([
    verdictsSection(desk, id),
    consentsSection(desk, id),
    timelineSection(desk, id),
  ]);
  const name = [player.first_name, player.last_name].filter(Boolean).join(" ");
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().general.players },
    heading: name || String(player.player_id ?? say().general.player),
    states: html`${chip(String(player.status))} ${player.tier ?? ""} <span>${player.player_id ?? ""}</span>`,
    content: html`${verdicts}${consentsNow(player, desk.property.timezone)}${consents}${timeline}<h2>${say().general.record}</h2>${fieldsOf(withoutConsents(player), desk.property.timezone)}${desk.canWrite ? personalSection(desk, player) : ""}`,
  });
}

/** The columns that the ledger's last entries fill. */
function consentsIn({ consents, consent_levels, consent_expiries }: Row) {
  return {
    given: (consents ?? {}) as Record<string, boolean>,
    levels: (consent_levels ?? {}) as Record<string, string>,
    ends: (consent_expiries ?? {}) as Record<string, string>,
  };
}

function withoutConsents({ consents: _, consent_levels: __, consent_expiries: ___, ...rest }: Row): Row {
  return rest;
}

/** The consent in force for each channel, in words. */
function consentsNow(player: Row, timezone: string): Html {
  const { given, levels, ends } = consentsIn(player);
  const words = say().players;
  const rows = CHANNELS.map((channel) => {
    const isGiven = given[channel];
    const state =
      isGiven === undefined
        ? html`<span class="none">${words.neverAsked}</span>`
        : chip(isGiven ? "granted" : "denied");
    const level = levels[channel];
    return html`<tr><th scope="row">${titled(channel)}</th><td>${state}</td><td>${shown(level && labelOf(level), timezone)}</td><td>${shown(ends[channel], timezone)}</td></tr>`;
  });
  const head = [say().general.channel, say().general.consent, say().compliance.level, words.endsOn];
  return html`<h2>${words.consentsInForce}</h2>${tableOf(words.consentsInForce, head, rows, html``)}`;
}

async function consentsSection(desk: Desk, id: string): Promise<Html> {
  const { rows } = await desk.list("consent_records", {
    filters: { "player_id.eq": id },
    order: "occurred_at.desc",
    limit: 20,
  });
  const head = [
    say().general.time,
    say().general.channel,
    say().general.action,
    say().general.source,
    say().players.text,
  ];
  const lines = rows.map(consentRow(desk.property.timezone));
  const empty = html`<p>${say().players.nothingRecordedThisPlayerWas} <a href="/docs/consent-and-compliance">${say().compliance.theGuideToConsents}</a></p>`;
  return html`<h2>${say().players.consentsOverTime}</h2><p><a href="/console/players/${id}/consents">${say().players.allThemToPrintFor}</a></p>${tableOf(say().general.consents, head, lines, empty)}`;
}

function consentRow(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="/console/records/consent_records/${row.id}">${timeOf(String(row.occurred_at), timezone)}</a></th><td>${chip(String(row.channel))}</td><td>${chip(String(row.action))}</td><td>${shown(row.consent_source, timezone)}</td><td>${shown(row.consent_text ?? row.consent_version, timezone)}</td></tr>`;
}
