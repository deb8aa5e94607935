import type { Area } from "../change.ts";

export const journeys: Area = {
  name: "journeys",
  tests: [
    "tests/tools/journeys/nodes.test.ts",
    "tests/tools/journeys/pace.test.ts",
    "tests/tools/journeys/line.test.ts",
    "tests/tools/journeys/line-order.test.ts",
  ],
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
    "tools/journeys/steps/pace.ts": [
      ["Math.min(paced, felt.most - passed)", "paced"],
      ["Math.min(paced, felt.most - passed)", "felt.most - passed"],
      ["at > from ? total + people : total", "at > from && at <= look.now ? total + people : total"],
      ["if (ahead <= period) return book;", "return book;"],
      ["if (ahead <= period) return book;", "if (ahead <= 0) return book;"],
      [
        "entries.set(key, [Math.max(last, at), others + people]);",
        "entries.set(key, [Math.min(last, at), others + people]);",
      ],
      ["(at > now - period ? period : DAY) / ENTRIES", "DAY / ENTRIES"],
      ["if (at <= now - DAY) continue;", "if (at <= now - period) continue;"],
      ["Math.min(Math.max(0, now - since), catchUp)", "catchUp"],
      ["Math.min(Math.max(0, now - since), catchUp)", "Math.max(0, now - since)"],
    ],
    "tools/journeys/steps/line.ts": [
      ["order by ${byArrival} limit ${most}::int", "limit ${most}::int"],
      ["const people = moved.passed.length;", "const people = moved.seen;"],
      ["sql`node = ${node.id} for no key update`", "sql`node = ${node.id}`"],
      ["else if (book !== line.book) await keepBook(context, version, node.id, book);", ""],
      ["tick: tick * SECOND", "tick: 0 * SECOND"],
    ],
    "tools/journeys/publishing/version.ts": [
      ["do update set most = excluded.most, seconds = excluded.seconds", "do nothing"],
    ],
  },
};
