import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { afterChange, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { changeWords } from "#runtime/operation/record-words.ts";
import { type Change, type NextOf, table, type Values } from "#runtime/operation/table.ts";
import { checkPlace, placeColumns } from "#tools/people/place-columns.ts";
import { waitingWords } from "#tools/uses/waiting-campaigns.ts";
import { CAP_MODES, CAPPED_CHANNELS, type CappedChannel, WINDOW_UNITS } from "./frequency.ts";

const MOST_ACTIVE = 10;
const MOST_HOURS = 30 * 24;
const HOURS = { hour: 1, day: 24, week: 168 };

const columns = {
  channel: writable(
    z
      .enum(Object.keys(CAPPED_CHANNELS) as CappedChannel[])
      .default("any")
      .describe("The counted messages: of one channel, of phone (sms and voice together), or of any"),
  ),
  tag: writable(
    z.string().trim().min(1).max(100).nullish().describe("Only campaigns with this tag. Default: all"),
    { vocabulary: true },
  ),
  ...placeColumns,
  max_sends: writable(z.int().min(1).max(1000).describe("The most messages in the window")),
  window_count: writable(
    z.int().min(1).max(MOST_HOURS).default(1).describe("Units of the window; 30 days at the most"),
  ),
  window_unit: writable(z.enum(WINDOW_UNITS).describe("The unit of window_count")),
  mode: writable(
    z
      .enum(CAP_MODES)
      .default("rolling")
      .describe("rolling: the window ends now. calendar_player_tz: whole units of the player's calendar"),
  ),
  is_active: writable(z.boolean().default(true).describe("false: the rule is not applied")),
  source_note: writable(
    z.string().trim().min(1).max(2000).nullish().describe("The law or the person behind the rule"),
  ),
};

export default table({
  name: "frequency_rules",
  noun: "frequency_rule",
  description:
    "A frequency rule caps the messages that a player gets in a window of time. All active rules apply together, at most ten. A message over the cap waits until the window allows it. Transactional campaigns, and campaigns with ignore_frequency_cap, are exempt.",
  columns,
  asks: ["update"],
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { verb, input, current } = change;
  if (verb === "delete") {
    if (current.is_active) askAbout(context, null, current);
    return {};
  }
  const next = afterChange(columns, change);
  checkPlace(next, change.input);
  if (next.window_count * HOURS[next.window_unit] > MOST_HOURS) {
    throw invalid("window_count", "makes the window longer than 30 days");
  }
  if (current && isLooser(current, next)) {
    askAbout(context, `This loosens a frequency rule: ${changeWords(current, input)}.`, current);
  }
  if (next.is_active && !current?.is_active) await checkRoom(context);
  return input;
}

type Rule = NextOf<typeof columns>;

/** `change`: null for a deletion, which has a question of its own. */
function askAbout(context: Context, change: string | null, { channel }: Pick<Rule, "channel">): void {
  const words = change === null ? [] : [change];
  context.ask?.({
    // The counts of messages that wait change by themselves.
    state: words.join(),
    sentences: async () => [
      ...words,
      ...(await waitingWords(context, "frequency_capped", CAPPED_CHANNELS[channel])),
    ],
  });
}

/** Whether a change may let more messages through than before: any but a plain tightening may. */
function isLooser(before: Rule, after: Rule): boolean {
  if (!before.is_active) return false;
  const span = ({ window_count, window_unit }: Rule) => window_count * HOURS[window_unit];
  const counted: readonly string[] = CAPPED_CHANNELS[after.channel];
  const isNarrower = (name: "tag" | "country" | "state") =>
    after[name] !== null && after[name] !== before[name];
  return (
    !after.is_active ||
    after.max_sends > before.max_sends ||
    span(after) < span(before) ||
    after.mode !== before.mode ||
    CAPPED_CHANNELS[before.channel].some((channel) => !counted.includes(channel)) ||
    isNarrower("tag") ||
    isNarrower("country") ||
    isNarrower("state")
  );
}

async function checkRoom({ sql, property }: Context): Promise<void> {
  // Locked: otherwise two calls at once could each add the tenth rule.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`frequency_rules ${property.id}`}, 0))`;
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from frequency_rules where property_id = ${property.id} and is_active`;
  if (row!.count < MOST_ACTIVE) return;
  throw new Fault("conflict", {
    message: `${MOST_ACTIVE} frequency rules are active, the most allowed. Set is_active to false on one of them first.`,
  });
}
