/** Milliseconds since 1970. */
type Time = number;

export interface OracleRule {
  country: string | null;
  state: string | null;
  days: number[];
  open: string;
  close: string;
  /** YYYY-MM-DD */
  since?: string | null;
}

export interface Whereabouts {
  zones: string[];
  country: string;
  state: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

interface Clock {
  day: string;
  weekday: number;
  time: string;
}

const clocks = new Map<string, Map<Time, Clock>>();

/** The time of a wall clock there. Places share zones, and to read a clock takes most of a comparison. */
export function wallClock(zone: string, at: Time): Clock {
  const known = clocks.get(zone) ?? new Map<Time, Clock>();
  clocks.set(zone, known);
  const clock = known.get(at) ?? readClock(zone, at);
  known.set(at, clock);
  return clock;
}

function readClock(zone: string, at: Time): Clock {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      weekday: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
    });
    formats.set(zone, format);
  }
  // Sat, 11/21/2026, 21:31
  const [weekday, date, time] = format.format(at).split(", ") as [string, string, string];
  const [month, day, year] = date.split("/");
  return { day: `${year}-${month}-${day}`, weekday: DAYS.indexOf(weekday), time };
}

/** Whether a message may go at this moment, by the words of the rules alone. */
export function isOpen(rules: readonly OracleRule[], locationHeader: Whereabouts, at: Time): boolean {
  return locationHeader.zones.every((zone) => {
    const clock = wallClock(zone, at);
    const levels = [
      rules.filter((rule) => rule.country === locationHeader.country && rule.state === null),
      rules.filter(
        (rule) =>
          rule.country === locationHeader.country &&
          rule.state !== null &&
          rule.state === locationHeader.state,
      ),
    ].filter((level) => level.length > 0);
    const held = levels.length > 0 ? levels : [rules.filter((rule) => rule.country === null)];
    return held.every((level) => {
      const known = level.filter(({ since }) => !since || since <= clock.day);
      const latest = known
        .map(({ since }) => since ?? "")
        .sort()
        .at(-1);
      const valid = known.filter(({ since }) => (since ?? "") === latest);
      if (valid.length === 0) return true;
      return valid.some(
        ({ days, open, close }) => days.includes(clock.weekday) && clock.time >= open && clock.time < close,
      );
    });
  });
}
