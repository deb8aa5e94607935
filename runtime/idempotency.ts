import type { Sql } from "#db/client.ts";
import { Fault, invalid } from "./faults.ts";

/** What a keyed call was answered with. */
export interface Recorded {
  status: number;
  /** JSON text. */
  body: string;
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** The Idempotency-Key as given, or a fault: 1 to 255 visible ASCII characters. */
export function readIdempotencyKey(key: string): string {
  if (!VISIBLE_ASCII.test(key)) throw invalid("Idempotency-Key", "must be 1 to 255 visible ASCII characters");
  return key;
}

/**
 * Takes the key for this transaction; a twin that runs at the same time waits here. Answers null when the
 * key is ours to use, and the recorded answer when the operation was already done.
 */
export async function reserveKey(
  sql: Sql,
  scope: string,
  idempotency: { key: string; fingerprint: Buffer },
  operation: string,
): Promise<Recorded | null> {
  const { key, fingerprint } = idempotency;
  const reserved = await sql`
    insert into idempotency_records as r (property_id, key, fingerprint, operation)
    values (${scope}, ${key}, ${fingerprint}, ${operation})
    on conflict (property_id, key) do update
      set fingerprint = excluded.fingerprint, operation = excluded.operation, status = null, body = null,
        created_at = now(), expires_at = now() + interval '24 hours'
      where r.expires_at <= now()
    returning 1`.catch((error: unknown) => {
    throw isLockTimeout(error) ? new Fault("idempotency_key_in_use", { retryAfter: 1, cause: error }) : error;
  });
  if (reserved.length > 0) return null;
  const [row] = await sql<{ fingerprint: Buffer; status: number; body: string }[]>`
    select fingerprint, status, body from idempotency_records where property_id = ${scope} and key = ${key}`;
  if (!row) throw new Fault("idempotency_key_in_use", { retryAfter: 1 });
  if (!row.fingerprint.equals(fingerprint)) throw new Fault("idempotency_key_reused");
  return { status: row.status, body: row.body };
}

function isLockTimeout(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "55P03";
}
