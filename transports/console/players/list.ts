import { html } from "hono/html";
import type { Desk, Row, Rows } from "#transports/console/desk.ts";
import { consolePage, firstStep } from "#transports/console/frame.ts";
import { onward } from "#transports/console/paging.ts";
import { term } from "#transports/console/terms.ts";
import { chip, shown, timeOf } from "#transports/console/values.ts";
import { numbers, tableOf } from "#transports/console/views/parts.js";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

export const PART = "/console/players";

/** The players, newest first, or those with one player id, email or phone. */
export async function playersPage(desk: Desk): Promise<Response> {
  const { c, property } = desk;
  const wanted = (c.req.query("q") ?? "").trim();
  const { rows, next } = await playersWith(desk, wanted);
  const empty =
    wanted === ""
      ? html`<p>${say().players.thereAreNoPlayersYet}</p>${firstStep(desk, "/console/imports/new", say().general.importPlayers)}`
      : html`<p>${say().players.nobodyHas(wanted)} <a href="${PART}">${say().players.seeAllPlayers}</a></p>`;
  const head = [
    say().general.player,
    say().general.name,
    say().general.email,
    say().general.phone,
    say().general.tier,
    numbers(term("adt")),
    say().general.status,
    say().general.since,
  ];
  const search = html`<form class="search" method="get" action="${PART}" role="search"><label for="q">${say().players.playerIdEmailOrPhone}</label><input id="q" name="q" type="search" maxlength="320" value="${wanted}"><button class="quiet small">${say().players.find}</button></form>`;
  return consolePage(desk, {
    part: PART,
    heading: say().general.players,
    actions: desk.canWrite
      ? html`<a class="button" href="/console/imports/new">${say().general.importPlayers}</a>`
      : "",
    content: html`${search}${tableOf(say().general.players, head, rows.map(rowOf(property.timezone)), empty)}${onward(c, next)}`,
  });
}

function rowOf(timezone: string) {
  return (row: Row): Html =>
    html`<tr><th scope="row"><a href="${PART}/${row.id}">${row.player_id ?? row.email ?? row.id}</a></th><td>${[row.first_name, row.last_name].filter(Boolean).join(" ")}</td><td>${shown(row.email, "")}</td><td>${shown(row.phone, "")}</td><td>${shown(row.tier, "")}</td><td class="number">${shown(row.adt, "")}</td><td>${chip(String(row.status))}</td><td>${timeOf(String(row.created_at), timezone)}</td></tr>`;
}

/** An index leads to each column. Digits may be a player id or a phone as it is dialed in the property's country. */
async function playersWith(desk: Desk, wanted: string): Promise<Rows> {
  const find = (filters: Record<string, string>) =>
    desk.list("players", {
      filters,
      order: "created_at.desc,id.desc",
      limit: 50,
      cursor: desk.c.req.query("cursor") ?? "",
    });
  if (wanted === "") return find({});
  if (wanted.includes("@")) return find({ "email.eq": wanted });
  const named = await find({ "player_id.eq": wanted });
  if (named.rows.length > 0 || !DIALED.test(wanted)) return named;
  return find({ "phone.eq": wanted });
}

const DIALED = /^\+?[\d\s().-]{7,30}$/;
