import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { iconOf } from "#transports/console/icons.ts";
import { chip, labelOf, timeOf, words } from "#transports/console/values.ts";
import type { Part } from "#transports/console/words/part.ts";
import { inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

const EACH = 20;
const SHOWN = 40;

interface Moment {
  at: string;
  icon: string;
  text: Html;
}

/** The sources of a player's history: the table, the column of its time, and each row in words. */
const SOURCES: readonly { table: string; at: string; icon: string; text(row: Row): Html }[] = [
  {
    table: "player_events",
    at: "occurred_at",
    icon: "/console",
    text: ({ name, properties }) => html`<b>${words(String(name))}</b> ${detailsOf(properties)}`,
  },
  {
    table: "campaign_sends",
    at: "created_at",
    icon: "/console/campaigns",
    text: (row) =>
      html`<a href="/console/messages/${row.id}">${say().players.messageOf(labelOf(String(row.channel)))}</a> ${chip(String(row.status))} ${whyNot(row)}${row.campaign_id ? html` <a href="/console/campaigns/${row.campaign_id}">${say().players.itsCampaign}</a>` : say().players.aTest}`,
  },
  {
    table: "consent_records",
    at: "occurred_at",
    icon: "/console/players",
    text: ({ channel, action, consent_source }) =>
      html`${say().players.consentForThen(labelOf(String(channel)), chip(String(action)), consent_source ? say().players.atSource(String(consent_source)) : "")}`,
  },
  {
    table: "journey_enrollments",
    at: "created_at",
    icon: "/console/journeys",
    text: ({ journey_id, status, current_node_id, exit_reason }) =>
      html`${say().players.entered} <a href="/console/journeys/${journey_id}">${say().players.aJourney}</a> ${chip(String(status))}${status === "active" ? say().players.nowAt(String(current_node_id)) : exit_reason ? `, ${labelOf(String(exit_reason))}` : ""}`,
  },
  {
    table: "game_plays",
    at: "created_at",
    icon: "dot",
    text: ({ outcome, status, game_id }) =>
      html`${say().players.played} <a href="/console/records/games/${game_id}">${say().players.aGame}</a> ${chip(String(outcome))} ${labelOf(String(status))}`,
  },
];

/** A player's history, newest first: events, messages, consents, journeys and plays. */
export async function timelineSection(desk: Desk, playerId: string): Promise<Html> {
  const { timezone } = desk.property;
  const lists = await Promise.all(
    SOURCES.map(async ({ table, at, icon, text }) => {
      const filters = { "player_id.eq": playerId };
      const { rows } = await desk.list(table, { filters, order: `${at}.desc`, limit: EACH });
      return rows.map((row): Moment => ({ at: String(row[at]), icon, text: text(row) }));
    }),
  );
  const moments = lists.flat().sort((one, other) => other.at.localeCompare(one.at));
  const items = moments
    .slice(0, SHOWN)
    .map(
      ({ at, icon, text }) =>
        html`<li>${iconOf(icon)}<div><p>${text}</p><p class="soft">${timeOf(at, timezone)}</p></div></li>`,
    );
  const more = html`<p class="soft ways">${say().players.allOfIt(html`${SOURCES.map(({ table }) => html`<a href="/console/records/${table}?column=player_id&amp;operator=eq&amp;value=${playerId}">${words(table)}</a>`)}`)}</p>`;
  const list =
    items.length > 0
      ? html`<ol class="timeline">${items}</ol>`
      : html`<p>${say().players.nothingKnownThisPlayerBeyond}</p>`;
  return html`<h2>${say().players.timeline}</h2><section class="pane">${list}${items.length > 0 ? more : ""}</section>`;
}

function detailsOf(properties: unknown): Html | "" {
  const pairs = Object.entries((properties ?? {}) as Record<string, unknown>).slice(0, 6);
  if (pairs.length === 0) return "";
  return html`<span class="soft">${pairs.map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ")}</span>`;
}

function whyNot({ skip_reasons, error_message }: Row): Part {
  const reasons = (skip_reasons as string[] | null) ?? [];
  if (reasons.length > 0) return say().players.leftOutFor(reasons.map(labelOf).join(", "));
  return error_message ? inEnglish(`${error_message}.`) : "";
}
