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
  const zone = zoneOf(moment);
  return sql`(
    select min(t) from (
      select (((${moment.now} at time zone ${zone})::date + n) + ${time}::time) at time zone ${zone} as t,
        extract(isodow from (${moment.now} at time zone ${zone})::date + n)::int as weekday
      from generate_series(0, 8) n
    ) days where t > ${moment.now} and weekday = any(${numbers(weekdays)}))`;
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
