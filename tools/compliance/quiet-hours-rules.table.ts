import { z } from "zod";
import type { Form } from "#db/query/readable-table.ts";
import { invalid } from "#runtime/faults.ts";
import { afterChange, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { changeWords, fieldWords } from "#runtime/operation/record-words.ts";
import { type Change, type NextOf, table, type Values } from "#runtime/operation/table.ts";
import { checkPlace, placeColumns } from "#tools/people/place-columns.ts";
import { waitingWords } from "#tools/uses/waiting-campaigns.ts";
import { CHANNELS, type Channel } from "./channels.ts";

export const QUIET_ACTIONS = ["defer", "skip"] as const;

const clock = (latest: RegExp, wants: string) => z.string().regex(latest, wants);
const CLOCK_FORM: Form = {
  fit: (text) => (/^\d{1,2}:\d{2}$/.test(text.trim()) ? text.trim().padStart(5, "0") : null),
  wants: "HH:MM",
};
const hourly = /^([01]\d|2[0-3]):[0-5]\d$/;

const columns = {
  ...placeColumns,
  channel: writable(
    z
      .array(z.enum(CHANNELS))
      .min(1)
      .max(CHANNELS.length)
      .default(["sms", "voice"])
      .describe("The channels that the rule applies to"),
  ),
  days: writable(
    z
      .array(z.int().min(0).max(6))
      .min(1)
      .max(7)
      .default([0, 1, 2, 3, 4, 5, 6])
      .describe("Days of the week that are open at these hours; 0 is Sunday"),
  ),
  open_local: writable(clock(hourly, "must be HH:MM").describe("HH:MM, such as 08:00"), {
    form: CLOCK_FORM,
  }),
  close_local: writable(
    clock(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, "must be HH:MM").describe(
      "HH:MM, such as 21:00, the closing time; 24:00 is midnight",
    ),
    { form: CLOCK_FORM },
  ),
  action: writable(
    z.enum(QUIET_ACTIONS).default("defer").describe("Outside the hours: defer waits, skip drops the message"),
  ),
  source_note: writable(
    z.string().trim().min(1).max(2000).nullish().describe("The law or the person behind the rule"),
  ),
  effective_from: writable(
    z.iso.date().nullish().describe("From this day on; replaces the place's older rules"),
  ),
};

export default table({
  name: "quiet_hours_rules",
  noun: "quiet_hours_rule",
  description:
    "A quiet hours rule opens hours for messages to players of a place, by their own clock. Outside them messages wait (defer) or are dropped (skip). A country's and its state's rules apply together; rules without a country apply where a country has none. A day without a rule is closed. Of a place's rules the latest effective_from counts. Properties start with US rules: check them with counsel.",
  columns,
  asks: ["create", "update"],
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  if (change.verb === "delete") {
    askAbout(context, null, change.current.channel);
    return {};
  }
  const next = afterChange(columns, change);
  checkPlace(next, change.input);
  if (next.open_local >= next.close_local) {
    throw invalid("close_local", "must be later than open_local; write hours over midnight as two rules");
  }
  const { current, input } = change;
  const channels = [...new Set([...(current?.channel ?? []), ...next.channel])];
  if (!current) {
    askAbout(context, `This may open hours in which nobody was written to: ${fieldWords(next)}.`, channels);
  } else if (isLooser(current, next)) {
    askAbout(context, `This loosens a rule of quiet hours: ${changeWords(current, input)}.`, channels);
  }
  return input;
}

/** `change`: null for a deletion, which has a question of its own. */
function askAbout(context: Context, change: string | null, channels: readonly Channel[]): void {
  const words = change === null ? [] : [change];
  context.ask?.({
    // The counts of messages that wait change by themselves.
    state: words.join(),
    sentences: async () => [...words, ...(await waitingWords(context, "quiet_hours", channels))],
  });
}

type Rule = NextOf<typeof columns>;

/** Whether a change may open hours that were closed, or a place, a channel or a day. */
function isLooser(before: Rule, after: Rule): boolean {
  const places = ["country", "state", "effective_from"] as const;
  return (
    places.some((name) => before[name] !== after[name]) ||
    before.channel.some((channel) => !after.channel.includes(channel)) ||
    after.days.some((day) => !before.days.includes(day)) ||
    after.open_local < before.open_local ||
    after.close_local > before.close_local ||
    (before.action === "skip" && after.action === "defer")
  );
}
