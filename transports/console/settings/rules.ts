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
import { tableOf } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/sign-in.ts";
import { term } from "#transports/console/terms.ts";
import { counted, words } from "#transports/console/values.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART, settingPage } from "./settings.ts";

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** The hours in which messages may go out, by place. */
export async function hoursPage(desk: Desk, filled: Filled = { values: OPEN }): Promise<Response> {
  const order = "country.asc,state.asc.nullsfirst,id.asc";
  const { rows } = await desk.list("quiet_hours_rules", { order, limit: 200 });
  const lines = rows.map(
    (row) =>
      html`<tr><th scope="row">${placeOf(row)}</th><td>${(row.channel as string[]).map(words).join(", ")}</td><td>${daysOf(row.days as number[])}</td><td>${row.open_local} to ${row.close_local}</td><td>${row.action === "defer" ? "wait" : "are dropped"}</td><td>${row.source_note ?? ""}</td><td>${removal(desk, "hours", row)}</td></tr>`,
  );
  const head = ["Place", "Channels", "Days", "Open", "Outside, messages", "Source", "Change"];
  const empty = html`<p>No rule: messages go out at any hour. Add the rules of the places where your players live.</p>`;
  const form = desk.canWrite
    ? html`<h2>Add a rule</h2>${formOf(desk, {
        action: `${PART}/hours`,
        filled,
        kind: "narrow",
        content: html`<div class="row">${input(filled, { name: "country", label: "Country", most: 2, hint: "ISO 3166. Empty: where no other rule is" })}${input(filled, { name: "state", label: "State", most: 3, hint: "Such as FL" })}</div>${ticks(
          "channel",
          "Channels",
          CHANNELS.map((one) => [one, words(one)] as const),
          filled,
          ["sms", "voice"],
        )}${ticks(
          "days",
          "Days",
          DAYS.map((name, index) => [String(index), name] as const),
          filled,
          ["0", "1", "2", "3", "4", "5", "6"],
        )}<div class="row">${input(filled, { name: "open_local", label: "From", isRequired: true, placeholder: "08:00" })}${input(filled, { name: "close_local", label: "To", isRequired: true, placeholder: "21:00" })}${select(filled, { name: "action", label: "Outside, messages", options: QUIET_ACTIONS.map((one): Option => [one, one === "defer" ? "wait" : "are dropped"]) })}</div>${input(filled, { name: "source_note", label: "Source", most: 2000, hint: "The law or the person behind the rule" })}<div class="acts"><button>Add the rule</button></div>`,
      })}`
    : "";
  return settingPage(
    desk,
    "hours",
    html`<p>${term("quiet_hours", "Quiet hours")} hold by the player's own clock. The rules that a property starts with are to be checked by counsel.</p>${tableOf("Quiet hours", head, lines, empty)}${form}`,
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
      html`<tr><th scope="row">${counted(Number(row.max_sends), "message")} in ${counted(Number(row.window_count), String(row.window_unit))}</th><td>${row.channel === "any" ? "Every channel" : words(String(row.channel))}${row.tag ? `, campaigns tagged ${row.tag}` : ""}</td><td>${placeOf(row)}</td><td>${row.mode === "rolling" ? "rolling" : "by the player's calendar"}</td><td>${row.is_active ? "yes" : "no"}</td><td>${removal(desk, "caps", row)}</td></tr>`,
  );
  const empty = html`<p>No cap: a player gets every message that is sent to them. Add one before several campaigns run at once.</p>`;
  const head = ["At most", "Counts", "Place", "Window", "In force", "Change"];
  const form = desk.canWrite
    ? html`<h2>Add a cap</h2>${formOf(desk, {
        action: `${PART}/caps`,
        filled,
        kind: "narrow",
        content: html`<div class="row">${input(filled, { name: "max_sends", label: "At most, messages", type: "number", isRequired: true })}${input(filled, { name: "window_count", label: "In", type: "number", isRequired: true })}${select(filled, { name: "window_unit", label: "Unit", options: WINDOW_UNITS.map((one): Option => [one, `${one}s`]) })}</div><div class="row">${select(filled, { name: "channel", label: "Channel", options: Object.keys(CAPPED_CHANNELS).map((one): Option => [one, one === "any" ? "Every channel" : words(one)]) })}${select(filled, { name: "mode", label: "Window", options: CAP_MODES.map((one): Option => [one, one === "rolling" ? "Rolling" : "The player's calendar"]) })}${input(filled, { name: "tag", label: "Campaigns tagged", most: 100, hint: "Empty: all" })}</div><div class="acts"><button>Add the cap</button></div>`,
      })}`
    : "";
  return settingPage(
    desk,
    "caps",
    html`<p>A message over a ${term("cap")} waits until the window allows it. All caps hold together.</p>${tableOf("Caps", head, lines, empty)}${form}`,
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
  return desk.canWrite ? actButton(desk, `${PART}/${page}/${id}/remove`, "Remove", "plain-button") : "";
}

function placeIn(form: URLSearchParams): Row {
  const given = (name: string) => form.get(name)?.trim().toUpperCase() || null;
  return { country: given("country"), state: given("state") };
}

function placeOf({ country, state }: Row): string {
  return country ? [country, state].filter(Boolean).join(", ") : "Everywhere else";
}

function daysOf(days: readonly number[]): string {
  return days.length === 7 ? "every day" : days.map((day) => DAYS[day]).join(", ");
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
