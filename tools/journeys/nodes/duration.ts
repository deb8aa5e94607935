import { z } from "zod";
import { type Fragment, sql } from "#db/sql.ts";

const UNITS = ["minutes", "hours", "days", "weeks"] as const;
const MINUTES: Record<(typeof UNITS)[number], number> = { minutes: 1, hours: 60, days: 1440, weeks: 10_080 };

/** A span of time, such as {"amount": 3, "unit": "days"}. A day is 24 hours. */
export const Duration = z
  .strictObject({ amount: z.int().min(1).max(525_600), unit: z.enum(UNITS) })
  .describe('Such as {"amount": 3, "unit": "days"}; a day is 24 hours');
export type Duration = z.output<typeof Duration>;

const MOST_DAYS = 365;

export function minutesOf({ amount, unit }: Duration): number {
  return amount * MINUTES[unit];
}

/** Says that a span is too long; null for one that is not. */
export function tooLong(duration: Duration): string | null {
  return minutesOf(duration) > MOST_DAYS * 1440 ? `must be at most ${MOST_DAYS} days` : null;
}

export function intervalOf(duration: Duration): Fragment {
  return sql`make_interval(mins => ${minutesOf(duration)}::int)`;
}
