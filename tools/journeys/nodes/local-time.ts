import { z } from "zod";
import { cast, type Fragment, sql } from "#db/sql.ts";
import type { Moment } from "./node.ts";

export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** A time of the day, such as 09:30. */
export const Clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be a time such as 09:30");
export const Weekdays = z.array(z.enum(WEEKDAYS)).min(1).max(7).optional().describe("Default: every day");

/** The player's time zone, else the property's, as SQL over `players p`. */
export function zoneOf({ property }: Moment): Fragment {
  const home = cast(property.timezone, "text");
  return sql`known_zone(coalesce(p.timezone, p.zones[1], ${home}), ${home})`;
}

/** The next moment after now at which the player's clock shows the time, on one of the weekdays. */
export function nextLocal(moment: Moment, time: string, weekdays: readonly string[] = WEEKDAYS): Fragment {
  const { now } = moment;
  const clock = cast(time, "time");
  return sql`(
    select (first + (${cast(daysUntil(weekdays), "int[]")})[extract(isodow from first)::int] + ${clock}) at time zone zone
    from (
      select zone, today + case when (today + ${clock}) at time zone zone > ${now} then 0 else 1 end as first
      from (
        select zone, (${now} at time zone zone)::date as today from (select ${zoneOf(moment)} as zone offset 0) z
      ) t
    ) f)`;
}

/** For each weekday the days until the next of these, 0 for one of them. */
function daysUntil(weekdays: readonly string[]): number[] {
  return WEEKDAYS.map((_, from) =>
    WEEKDAYS.findIndex((__, ahead) => weekdays.includes(WEEKDAYS[(from + ahead) % WEEKDAYS.length]!)),
  );
}

/** Whether the player's clock is between two times on one of the weekdays; `to` at midnight is 00:00. */
export function isWithin(
  moment: Moment,
  from: string,
  to: string,
  weekdays: readonly string[] = WEEKDAYS,
): Fragment {
  const local = sql`(${moment.now} at time zone ${zoneOf(moment)})`;
  const end = to === "00:00" ? "24:00" : to;
  return sql`(${local}::time >= ${from}::time and ${local}::time < ${end}::time
    and extract(isodow from ${local})::int = any(${numbers(weekdays)}))`;
}

function numbers(weekdays: readonly string[]): Fragment {
  return cast(
    weekdays.map((day) => WEEKDAYS.indexOf(day as (typeof WEEKDAYS)[number]) + 1),
    "int[]",
  );
}
