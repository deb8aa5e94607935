import { type Fragment, raw, sql } from "#db/sql.ts";
import type { Field } from "./field.ts";
import { type Operator, opposite } from "./operator.ts";
import { day, days, type Position, scalar } from "./values.ts";

const DATED = ["timestamp", "date"] as const;
const DAYS = "a whole number of days from 0 to 36500";

const inLastDays: Operator = {
  on: DATED,
  value: DAYS,
  meaning:
    "lies in the last n days: n times 24 hours before now for a time, today and the n days before it in the property's time zone for a date",
  missing: false,
  sql(field, value, at) {
    const n = days(value, at, field);
    if (field.type === "timestamp") {
      return sql`${field.sql} between ${at.scope.now} - ${n} * interval '24 hours' and ${at.scope.now}`;
    }
    return sql`${dayOf(field, at)} between ${at.scope.today} - ${n} and ${at.scope.today}`;
  },
};

/** Operators that know the calendar. */
export const DATE_OPERATORS = {
  before: moment("<", "is earlier than; a date means its first moment in the property's time zone"),
  after: moment(">", "is later than; a date means its first moment in the property's time zone"),
  in_last_days: inLastDays,
  not_in_last_days: opposite(inLastDays, "does not lie in the last n days, or is missing"),
  in_next_days: {
    on: DATED,
    value: DAYS,
    meaning: "lies in the next n days, counted as in_last_days counts them",
    missing: false,
    sql(field, value, at) {
      const n = days(value, at, field);
      if (field.type === "timestamp") {
        return sql`${field.sql} between ${at.scope.now} and ${at.scope.now} + ${n} * interval '24 hours'`;
      }
      return sql`${dayOf(field, at)} between ${at.scope.today} and ${at.scope.today} + ${n}`;
    },
  },
  on_day: {
    on: DATED,
    value: "a date such as 2026-05-31",
    meaning: "falls on the day in the property's time zone",
    missing: false,
    sql: (field, value, at) => sql`${dayOf(field, at)} = ${day(value, at)}`,
  },
  anniversary_in_next_days: {
    on: DATED,
    value: DAYS,
    meaning:
      "has its day and month today or in the next n days, in the property's time zone; February 29 counts as February 28 in other years",
    missing: false,
    sql: (field, value, at) => anniversary(dayOf(field, at), at.scope.today, days(value, at)),
  },
} as const satisfies Record<string, Operator>;

function moment(sign: "<" | ">", meaning: string): Operator {
  return {
    on: DATED,
    value: "a date such as 2026-05-31 or, except for a date field, a time such as 2026-05-31T18:00:00Z",
    meaning,
    missing: false,
    sql: (field, value, at) => sql`${field.sql} ${raw(sign)} ${scalar(field, value, at)}`,
  };
}

function dayOf(field: Field, at: Position): Fragment {
  return field.type === "date" ? field.sql : sql`(${field.sql} at time zone ${at.scope.zone})::date`;
}

/** This year's anniversary or the next year's; adding years to February 29 gives 28 where there is no 29. */
function anniversary(date: Fragment, today: Fragment, n: Fragment): Fragment {
  const years = sql`(extract(year from ${today}) - extract(year from ${date}))::int`;
  const inYears = (ahead: 0 | 1) =>
    sql`(${date} + make_interval(years => ${years} + ${raw(String(ahead))}))::date between ${today} and ${today} + ${n}`;
  return sql`case when isfinite(${date}) then ${inYears(0)} or ${inYears(1)} end`;
}
