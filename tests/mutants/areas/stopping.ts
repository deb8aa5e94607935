import type { Area } from "../change.ts";

export const stopping: Area = {
  name: "stopping",
  tests: ["tests/tools/compliance/sends-under-way.test.ts"],
  changes: {
    "tools/statuses/sends.ts": [['WAITING_SENDS = ["pending", "deferred"]', 'WAITING_SENDS = ["pending"]']],
    "tools/compliance/sends-under-way.ts": [
      ["case when repeats then 'unknown' else 'cancelled' end", "'cancelled'"],
      ["if (!(await mayStart(tenant, targets, bar, withinMs))) return;", "return;"],
      ["or ${isOpen(sql, bar)}\n    limit 1`", "limit 1`"],
      ["(t.own or not ${OWN.includes(reason)}) and", ""],
      ["s.channel = any(${[...channels]}::text[])", "true"],
      ["and s.status in (${literals(WAITING_SENDS)}))`", "and s.status in ('pending'))`"],
      [
        "s.property_id = ${property.id} and s.address_hash = w.hash",
        "s.property_id = ${property.id} and false",
      ],
    ],
  },
};
