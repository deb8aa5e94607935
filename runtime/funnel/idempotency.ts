import { hash } from "node:crypto";
import { isSqlState } from "#db/connection/error-code.ts";
import type { Sql } from "#db/database.ts";
import { type Fragment, join, sql } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";

/** A keyed call's answer. */
export interface Answer {
  status: number;
  /** JSON text. */
  body: string;
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** The Idempotency-Key as given, or a fault, which names the `field`: 1 to 255 visible ASCII characters. */
export function readIdempotencyKey(key: string, field = "Idempotency-Key"): string {
  if (!VISIBLE_ASCII.test(key)) throw invalid(field, "must be 1 to 255 visible ASCII characters");
  return key;
}

/** A keyed call. `scope` is its property, or its user where the operation has no property. */
export interface Keyed {
  scope: string;
  key: string;
  fingerprint: Buffer;
}

/**
 * The recorded answer; null when the key is the caller's until its transaction ends. A concurrent twin waits here.
 * All statements are sent before this returns its promise, so that others can follow in the same round trip. Throws
 * `idempotency_key_in_use` after the lock timeout, and `idempotency_key_reused`.
 */
export async function claimKey(sql: Sql, keyed: Keyed): Promise<Answer | null> {
  const { scope, key } = keyed;
  // An advisory lock, because a reserved row would have to be written twice.
  const lock = hash("sha256", `${scope} ${key}`, "buffer").readBigInt64BE();
  const locked = sql`select pg_advisory_xact_lock(${String(lock)}::bigint)`;
  const recorded = findRecorded(sql, keyed);
  // It fails with the lock, which is awaited first.
  recorded.catch(() => {});
  await locked.catch((error: unknown) => {
    throw isSqlState(error, "55P03")
      ? new Fault("idempotency_key_in_use", { retryAfter: 1, cause: error })
      : error;
  });
  return recorded;
}

/** The recorded answer of a key, or null. Throws `idempotency_key_reused`. */
export async function findRecorded(sql: Sql, { scope, key, fingerprint }: Keyed): Promise<Answer | null> {
  const [row] = await sql<(Answer & { fingerprint: Buffer })[]>`
    select fingerprint, status, body from idempotency_records
    where property_id = ${scope} and key = ${key} and expires_at > now()`;
  if (!row) return null;
  if (!row.fingerprint.equals(fingerprint)) throw new Fault("idempotency_key_reused");
  return { status: row.status, body: row.body };
}

/** The answer of a keyed call. */
export interface RecordedAnswer extends Keyed, Answer {
  operation: string;
}

/**
 * The statement that records answers under their claimed keys. It replaces expired records. Another call cannot have
 * left a valid record by now; if one stands, the null key rolls the transaction back.
 */
export function recordedAnswers(answers: RecordedAnswer[]): Fragment {
  const rows = answers.map(
    ({ scope, key, fingerprint, operation, status, body }) =>
      sql`(${scope}, ${key}, ${fingerprint}, ${operation}, ${status}, ${body})`,
  );
  return sql`
    insert into idempotency_records as r (property_id, key, fingerprint, operation, status, body)
    values ${join(rows)}
    on conflict (property_id, key) do update
      set key = case when r.expires_at <= excluded.created_at then excluded.key end,
        fingerprint = excluded.fingerprint, operation = excluded.operation, status = excluded.status,
        body = excluded.body, created_at = excluded.created_at, expires_at = excluded.expires_at`;
}
