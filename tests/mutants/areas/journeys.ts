import type { Area } from "../change.ts";

export const journeys: Area = {
  name: "journeys",
  tests: ["tests/tools/journeys/nodes.test.ts"],
  changes: {
    "tools/journeys/nodes/time-window.ts": [
      ["sql`greatest(d.wake_at, ${now} - make_interval(secs => ${tick}))`", "sql`d.wake_at`"],
      [
        "return sql`case when ${isWithin({ ...moment, now: passing }, from, to, weekdays)} then ${NEXT} end`;",
        "return sql`${NEXT}::text`;",
      ],
    ],
    "tools/journeys/steps/move.ts": [
      ['const again = phase === "waiting" ?', 'const again = phase === "sending" ?'],
    ],
    "tools/journeys/steps/slots.ts": [
      ["max(last_slot) + ${apart}", "max(last_slot)"],
      ["greatest(wake_at, ${earliest}) - place", "wake_at - place"],
      ["and (select wake_at from first) < ${earliest}\n", "\n"],
      [
        "order by w.wake_at, w.player_id, w.entry_key) * ${apart} as place",
        "order by w.player_id, w.entry_key) * ${apart} as place",
      ],
      ["and n.last_slot < s.slot\n", "and false\n"],
      ["max(look_ms) * ${TIMES_AS_LONG}", "0 * ${TIMES_AS_LONG}"],
    ],
  },
};
