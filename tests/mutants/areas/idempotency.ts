import type { Area } from "../change.ts";

export const idempotency: Area = {
  name: "idempotency",
  tests: [
    "tests/contract/http/idempotency.test.ts",
    "tests/contract/specification/errors-and-limits.test.ts",
    "tests/transports/mcp/confirm.test.ts",
  ],
  first: {
    "runtime/funnel/idempotency.ts": "tests/contract/http/idempotency.test.ts",
    "runtime/funnel/transaction.ts": "tests/contract/http/idempotency.test.ts",
    "runtime/funnel/recorded-refusals.ts": "tests/contract/http/idempotency.test.ts",
  },
  changes: {
    "runtime/funnel/idempotency.ts": [
      ["/^[\\x21-\\x7e]{1,255}$/", "/^[\\x20-\\x7e]{1,255}$/"],
      ["{1,255}$/", "{1,300}$/"],
      ["and expires_at > now()`", "`"],
      ["if (!row.fingerprint.equals(fingerprint)) throw", "if (false) throw"],
      ["case when r.expires_at <= excluded.created_at then excluded.key end", "excluded.key"],
      ["fingerprint = excluded.fingerprint,", ""],
      ["body = excluded.body,", ""],
      ['isSqlState(error, "55P03")', 'isSqlState(error, "55P04")'],
      ["where property_id = ${scope} and key", "where key"],
    ],
    "runtime/funnel/transaction.ts": [
      ['!recordsAnswer(operation) || operation.access === "public"', "!recordsAnswer(operation)"],
    ],
    "runtime/funnel/recorded-refusals.ts": [
      ["(status === 404 || status === 409)", "status === 404"],
      ["if (recorded) return { ...recorded, replayed: true };", ""],
      ["return recorded && { ...recorded, replayed: true };", "return null;"],
    ],
  },
};
