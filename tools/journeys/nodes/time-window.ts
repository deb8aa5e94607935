import { z } from "zod";
import { sql } from "#db/sql.ts";
import { Clock, isWithin, nextLocal, Weekdays } from "./local-time.ts";
import { NEXT, type NodeKind } from "./node.ts";

export const WindowConfig = z.strictObject({
  from: Clock.describe("By the player's own clock"),
  to: Clock.describe("Later the same day; 00:00 is its end"),
  weekdays: Weekdays,
});
export type WindowConfig = z.output<typeof WindowConfig>;

export const timeWindow: NodeKind<WindowConfig> = {
  type: "time_window",
  meaning:
    "Lets players on only between two times of their own clock; the others wait for the next opening. A day whose clock skips both times has none.",
  config: WindowConfig,
  labels: () => [NEXT],
  problems: ({ from, to }) =>
    to === "00:00" || from < to ? [] : [{ field: "to", message: "must be later than from, on the same day" }],
  arrival: ({ config: { from, to, weekdays } }, moment) => ({
    phase: "waiting",
    wakeAt: sql`case when ${isWithin(moment, from, to, weekdays)} then ${moment.now}
      else ${nextLocal(moment, from, weekdays)} end`,
  }),
  // A person may come late: behind a worker that was down, or a pause. Asked again, closed hours stay closed.
  next: ({ config: { from, to, weekdays } }, moment) => {
    const { now, tick } = moment;
    const passing = sql`greatest(d.wake_at, ${now} - make_interval(secs => ${tick}))`;
    return sql`case when ${isWithin({ ...moment, now: passing }, from, to, weekdays)} then ${NEXT} end`;
  },
};
