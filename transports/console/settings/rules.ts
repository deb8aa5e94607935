import { html } from "hono/html";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { CAP_MODES, CAPPED_CHANNELS, WINDOW_UNITS } from "#tools/compliance/frequency.ts";
import { QUIET_ACTIONS } from "#tools/compliance/quiet-hours-rules.table.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import {
  actButton,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  tried,
} from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { term } from "#transports/console/terms.ts";
import { labelOf, words } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { counted, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART, settingPage } from "./settings.ts";

/** The hours in which messages may go out, by place. */
export async function hoursPage(desk: Desk, filled: Filled = { values: OPEN }): Promise<Response> {
  const order = "country.asc,state.asc.nullsfirst,id.asc";
  const { rows } = await desk.list("quiet_hours_rules", { order, limit: 200 });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row">${placeOf(row)}</th><td>${(row.channel as string[]).map(words).join(", ")}</td><td>${daysOf(row.days as number[])}</td><td>${say().settings.openFromTo(String(row.open_local), String(row.close_local))}</td><td>${say().settings.quietActions[row.action as (typeof QUIET_ACTIONS)[number]]}</td><td>${row.source_note ?? ""}</td><td>${removal(desk, "hours", row)}</td></tr>`,
  );
  const head = [
    say().settings.place,
    say().settings.channels,
    say().general.days,
    say().settings.openHours,
    say().settings.outsideMessages,
    say().general.source,
    say().settings.change,
  ];
  const empty = html`<p>${say().settings.noRuleMessagesGoOut} <a href="/docs/compliance">${say().compliance.theGuideToCompliance}</a></p>`;
  const form = desk.canWrite
    ? html`<h2>${say().general.addARule}</h2>${formOf(desk, {
        action: `${PART}/hours`,
        filled,
        kind: "narrow",
        content: html`<div class="row">${input(filled, { name: "country", label: say().settings.country, most: 2, hint: say().settings.iso3166EmptyWhereNo })}${input(filled, { name: "state", label: say().general.state, most: 3, hint: say().settings.suchAsFl })}</div>${ticks(
          "channel",
          say().settings.channels,
          CHANNELS.map((one) => [one, words(one)] as const),
          filled,
          ["sms", "voice"],
        )}${ticks(
          "days",
          say().general.days,
          say().settings.weekdays.map((name, index) => [String(index), name] as const),
          filled,
          ["0", "1", "2", "3", "4", "5", "6"],
        )}<div class="row">${input(filled, { name: "open_local", label: say().settings.opensAt, isRequired: true, placeholder: "08:00" })}${input(filled, { name: "close_local", label: say().settings.closesAt, isRequired: true, placeholder: "21:00" })}${select(filled, { name: "action", label: say().settings.outsideMessages, options: QUIET_ACTIONS.map((one): Option => [one, say().settings.quietActions[one]]) })}</div>${input(filled, { name: "source_note", label: say().general.source, most: 2000, hint: say().settings.lawOrPersonBehindRule })}<div class="acts"><button>${say().settings.addTheRule}</button></div>`,
      })}`
    : "";
  return settingPage(
    desk,
    "hours",
    html`<p>${say().settings.quietHoursHold(term("quiet_hours", say().settings.quietHours))}</p>${tableOf(say().settings.quietHours, head, lines, empty)}${form}`,
  );
}

const OPEN = { country: "US", open_local: "08:00", close_local: "21:00" };

export function addHours(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      await desk.once("create_quiet_hours_rule", {
        ...placeIn(form),
        channel: form.getAll("channel"),
        days: form.getAll("days").map(Number),
        open_local: form.get("open_local") ?? "",
        close_local: form.get("close_local") ?? "",
        action: form.get("action") ?? "defer",
        source_note: form.get("source_note")?.trim() || null,
      });
      return redirect(`${PART}/hours`);
    },
    (fault) => hoursPage(desk, { values: form, fault }),
  );
}

/** The most messages that a player gets in a window of time. */
export async function capsPage(desk: Desk, filled: Filled = { values: ONE }): Promise<Response> {
  const { rows } = await desk.list("frequency_rules", { order: "created_at.asc,id.asc", limit: 200 });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row">${say().settings.capOf(counted(Number(row.max_sends), "message"), counted(Number(row.window_count), row.window_unit as (typeof WINDOW_UNITS)[number]))}</th><td>${row.channel === "any" ? say().general.everyChannel : words(String(row.channel))}${row.tag ? say().settings.campaignsTaggedWith(String(row.tag)) : ""}</td><td>${placeOf(row)}</td><td>${row.mode === "rolling" ? say().settings.isRolling : say().settings.byThePlayersCalendar}</td><td>${labelOf(row.is_active ? "yes" : "no")}</td><td>${removal(desk, "caps", row)}</td></tr>`,
  );
  const empty = html`<p>${say().settings.noCapPlayerGetsEvery} <a href="/docs/compliance">${say().compliance.theGuideToCompliance}</a></p>`;
  const head = [
    say().settings.atMost,
    say().settings.counts,
    say().settings.place,
    say().settings.window,
    say().settings.inForce,
    say().settings.change,
  ];
  const form = desk.canWrite
    ? html`<h2>${say().settings.addACap}</h2>${formOf(desk, {
        action: `${PART}/caps`,
        filled,
        kind: "narrow",
        content: html`<div class="row">${input(filled, { name: "max_sends", label: say().settings.atMostMessages, type: "number", isRequired: true })}${input(filled, { name: "window_count", label: say().settings.in, type: "number", isRequired: true })}${select(filled, { name: "window_unit", label: say().settings.unit, options: WINDOW_UNITS.map((one): Option => [one, say().settings.units[one]]) })}</div><div class="row">${select(filled, { name: "channel", label: say().general.channel, options: Object.keys(CAPPED_CHANNELS).map((one): Option => [one, one === "any" ? say().general.everyChannel : words(one)]) })}${select(filled, { name: "mode", label: say().settings.window, options: CAP_MODES.map((one): Option => [one, one === "rolling" ? say().settings.rolling : say().settings.thePlayersCalendar]) })}${input(filled, { name: "tag", label: say().settings.campaignsTagged, most: 100, hint: say().settings.emptyAll })}</div><div class="acts"><button>${say().settings.addTheCap}</button></div>`,
      })}`
    : "";
  return settingPage(
    desk,
    "caps",
    html`<p>${say().settings.overACap(term("cap"))}</p>${tableOf(say().settings.caps, head, lines, empty)}${form}`,
  );
}

const ONE = { max_sends: "3", window_count: "7", window_unit: "day" };

export function addCap(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      await desk.once("create_frequency_rule", {
        max_sends: Number(form.get("max_sends")),
        window_count: Number(form.get("window_count")),
        window_unit: form.get("window_unit") ?? "day",
        channel: form.get("channel") ?? "any",
        mode: form.get("mode") ?? "rolling",
        tag: form.get("tag")?.trim() || null,
      });
      return redirect(`${PART}/caps`);
    },
    (fault) => capsPage(desk, { values: form, fault }),
  );
}

/** Removes a rule of hours or a cap. */
export async function removeRule(desk: Desk, page: "hours" | "caps"): Promise<Response> {
  const noun = page === "hours" ? "quiet_hours_rule" : "frequency_rule";
  await desk.run(`delete_${noun}`, { id: desk.c.req.param("id") });
  return redirect(`${PART}/${page}`);
}

function removal(desk: Desk, page: "hours" | "caps", { id }: Row): Html | "" {
  return desk.canWrite
    ? actButton(desk, `${PART}/${page}/${id}/remove`, say().general.remove, "plain-button")
    : "";
}

function placeIn(form: URLSearchParams): Row {
  const given = (name: string) => form.get(name)?.trim().toUpperCase() || null;
  return { country: given("country"), state: given("state") };
}

function placeOf({ country, state }: Row): string {
  return country ? [country, state].filter(Boolean).join(", ") : say().settings.everywhereElse;
}

function daysOf(days: readonly number[]): string {
  return days.length === 7
    ? say().settings.everyDay
    : days.map((day) => say().settings.weekdays[day]).join(", ");
}

/** Several of a list. */
function ticks(
  name: string,
  legend: string,
  options: readonly (readonly [string, string])[],
  { values }: Filled,
  usual: readonly string[],
): Html {
  const chosen = values instanceof URLSearchParams ? values.getAll(name) : usual;
  return html`<fieldset><legend>${legend}</legend><div class="looks">${options.map(([value, text]) => html`<div class="tick"><input type="checkbox" id="${name}-${value}" name="${name}" value="${value}"${chosen.includes(value) ? html` checked` : ""}><label for="${name}-${value}">${text}</label></div>`)}</div></fieldset>`;
}
