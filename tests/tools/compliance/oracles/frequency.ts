import { CAPPED_CHANNELS } from "#tools/compliance/frequency.ts";
import { wallClock } from "./hours.ts";

/** Milliseconds since 1970. */
type Time = number;

export interface CapRule {
  channel: keyof typeof CAPPED_CHANNELS;
  tag: string | null;
  max_sends: number;
  unit: "hour" | "day" | "week";
  count: number;
  mode: "rolling" | "calendar_player_tz";
  /** The law of calls, from which no campaign exempts itself. */
  isLaw?: true;
}

/** No number is called twice in a day. */
export const LAW: CapRule = {
  channel: "voice",
  tag: null,
  max_sends: 1,
  unit: "hour",
  count: 24,
  mode: "rolling",
  isLaw: true,
};

export interface Past {
  at: Time;
  channel: "sms" | "voice" | "email";
  tag?: string | null;
  transactional?: boolean;
  status: string;
}

const HOURS = { hour: 1, day: 24, week: 168 };
const HOUR = 3_600_000;
const COUNTED = ["sending", "sent", "delivered", "bounced", "unknown"];

/** When the last of the rules lets another message go, found by counting anew at each moment; null when all do now. */
export function freeAt(
  rules: readonly CapRule[],
  past: readonly Past[],
  {
    at,
    zones,
    channel,
    tags,
  }: { at: Time; zones: string[]; channel: Past["channel"]; tags: readonly string[] },
): Time | null {
  const times = rules.flatMap((rule) => {
    const channels: readonly string[] = CAPPED_CHANNELS[rule.channel];
    if (!channels.includes(channel) || (rule.tag !== null && !tags.includes(rule.tag))) return [];
    const counted = past.filter(
      (one) =>
        COUNTED.includes(one.status) &&
        channels.includes(one.channel) &&
        (rule.isLaw || !one.transactional) &&
        (rule.tag === null || one.tag === rule.tag),
    );
    const isFree = (moment: Time) =>
      counted.filter((one) => counts(rule, one.at, moment, zones)).length < rule.max_sends;
    if (isFree(at)) return [];
    // A message leaves a window after the length of the window, or at the turn of a unit.
    const edges = rule.mode === "rolling" ? counted.map((one) => one.at + span(rule)) : turns(at);
    return [Math.min(...edges.filter((edge) => edge > at && isFree(edge)))];
  });
  return times.length === 0 ? null : Math.max(...times);
}

const span = (rule: CapRule) => rule.count * HOURS[rule.unit] * HOUR;

/** Whether a message of `sent` is in the window of `moment`, in any of the zones. */
function counts(rule: CapRule, sent: Time, moment: Time, zones: string[]): boolean {
  if (rule.mode === "rolling") return sent > moment - span(rule);
  return zones.some((zone) => unitOf(rule, zone, moment) - unitOf(rule, zone, sent) < rule.count);
}

/** The number of the calendar's unit that a moment lies in. */
function unitOf({ unit }: CapRule, zone: string, at: Time): number {
  const { day, time } = wallClock(zone, at);
  const days = Date.parse(day) / (24 * HOUR);
  if (unit === "day") return days;
  // 1970 began on a Thursday, and a week begins on Monday.
  if (unit === "week") return Math.floor((days + 3) / 7);
  return days * 24 + Number(time.slice(0, 2));
}

/** Every half hour of the coming two weeks: no unit of a calendar turns between. */
function turns(at: Time): Time[] {
  const first = Math.floor(at / (HOUR / 2)) * (HOUR / 2);
  return Array.from({ length: 14 * 48 }, (_, index) => first + index * (HOUR / 2));
}
