import type { Area } from "../change.ts";

export const hours: Area = {
  name: "hours",
  tests: [
    "tests/tools/compliance/hours.test.ts",
    "tests/tools/compliance/frequency.test.ts",
    "tests/tools/journeys/settings.test.ts",
  ],
  changes: {
    "tools/compliance/hours.ts": [
      ["const DAYS_AHEAD = 8;", "const DAYS_AHEAD = 3;"],
      ["bool_or(${skips", "bool_and(${skips"],
      ["sql`r.id is not null`", "sql`false`"],
      ["range_intersect_agg(open) as open,", "range_agg(open) as open,"],
      ["${isOpen(sql`range_intersect_agg(open)`)} as is_open", "${isOpen(sql`range_agg(open)`)} as is_open"],
      ["filter (where not ${isOpen(sql`open`)})", ""],
      ["coalesce(o.state, z.state) = z.state)", "o.state = z.state)"],
      ["r.country = z.country and coalesce(r.state, z.state) = z.state end", "r.country = z.country end"],
      ["where is_latest", ""],
      ["and since <= d.day", ""],
      ["when r.since is null then", "when r.since is null and false then"],
      ["extract(dow from d.day)", "extract(isodow from d.day)"],
      ["case when p.zones = '{}' then array[home.zone] else p.zones end) z(zone)", "p.zones) z(zone)"],
      ["i.closes - (i.closes at time zone d.zone - i.closing)", "i.closes"],
      ["then i.closes - interval '1 hour'", "then i.closes"],
      ["state is not distinct from d.state", "true"],
      ["channel @> ${raw(`'{${channel}}'`)}", "true"],
      ["when ${open} is null then ${from}", "when ${open} is null then null"],
    ],
  },
};
