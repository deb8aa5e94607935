import type { Area } from "../change.ts";

export const queue: Area = {
  name: "queue",
  tests: ["tests/runtime/jobs", "tests/runtime/installation.test.ts"],
  unnoticeable: {
    "where lease = any(${claims": "Only a job that runs has a lease; the state leads to the index.",
  },
  changes: {
    "runtime/jobs/queue.ts": [
      [
        "where waiting.run_at <= now() and coalesce(has.jobs, 0) < ${cap}::int",
        "where waiting.run_at <= now()",
      ],
      ["order by coalesce(has.jobs, 0), waiting.run_at\n", "order by waiting.run_at\n"],
      [
        "and tenant = due.tenant and run_at <= now() and ${runnable",
        "and tenant = due.tenant and ${runnable",
      ],
      ["for update of waiting skip locked) as job", ") as job"],
      ["(merge_key is null or not exists (", "(true or not exists ("],
      ["limit least(due.room, ceil(", "limit least(500, ceil("],
      ["attempts = attempts + 1, lease = ${lease}, dedupe = null", "lease = ${lease}, dedupe = null"],
      ["lease = ${lease}, dedupe = null,", "lease = ${lease},"],
      ["name = any(${names as string[]}::text[])\n", "true\n"],
      ["or (select sending_is_open())", "or true"],
      [
        "select id, name, property_id, tenant, input, attempts, max_attempts, merge_key, trace from taken order by run_at, id`",
        "select id, name, property_id, tenant, input, attempts, max_attempts, merge_key, trace from taken order by run_at desc, id`",
      ],
      ["and leased_until < case when ${all}", "and leased_until > case when ${all}"],
      [
        "set state = case when attempts >= max_attempts then 'dead' else 'ready' end,\n        run_at",
        "set state = 'ready',\n        run_at",
      ],
      ["input = case when attempts >= max_attempts then impersonal(input) else input end", "input = input"],
      [
        "do update set run_at = least(queue.run_at, excluded.run_at)",
        "do update set run_at = excluded.run_at",
      ],
      ["waiting where run_at > now()`,\n    INDEXED", "waiting`,\n    INDEXED"],
    ],
    "runtime/jobs/leases.ts": [
      ["where queue.id = done.id and queue.lease = done.lease`", "where queue.id = done.id`"],
      [
        "not uncounted and attempts >= max_attempts then 'dead' else",
        "not uncounted and attempts > max_attempts then 'dead' else",
      ],
      ["attempts = attempts - uncounted::int,", ""],
      ["least(3600, 2 ^ least(12,", "least(1, 2 ^ least(12,"],
      ["and interruptions < ${UNCOUNTED}::int as uncounted", "as uncounted"],
      ["where id = ended.job and lease = ${lease}", "where id = ended.job"],
      [
        "on queue.id = h.id and queue.lease = h.lease\n          for no key",
        "on queue.id = h.id\n          for no key",
      ],
      ["set state = 'ready', attempts = attempts - 1, lease", "set state = 'ready', lease"],
      ["where state = 'running' and lease = any(${claims", "where lease = any(${claims"],
      [
        "then impersonal(input) else input end,\n        is_impersonal = is_impersonal or not uncounted",
        "then input else input end,\n        is_impersonal = is_impersonal or not uncounted",
      ],
    ],
    "runtime/jobs/claims.ts": [
      ["for (const job of lost) job.stop.abort();", ""],
      ["unanswered.add(lease);", ""],
      ["await releaseUnanswered();\n      const lease", "const lease"],
    ],
  },
};
