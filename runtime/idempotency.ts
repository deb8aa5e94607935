import { hash } from "node:crypto";
import type { Sql } from "#db/client.ts";
import { isSqlState } from "#db/error-code.ts";
import type { Part } from "#db/statement.ts";
import { Fault, invalid } from "./faults.ts";

/** What a keyed call is answered with. */
export interface Recorded {
  status: number;
  /** JSON text. `answered`: what the statement itself answers. */
  body: string;
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** The Idempotency-Key as given, or a fault, which names the `field`: 1 to 255 visible ASCII characters. */
export function readIdempotencyKey(key: string, field = "Idempotency-Key"): string {
  if (!VISIBLE_ASCII.test(key)) throw invalid(field, "must be 1 to 255 visible ASCII characters");
  return key;
}

/** What a keyed call belongs to: a property, or a user where an operation has none. */
export interface Keyed {
  scope: string;
  key: string;
  fingerprint: Buffer;
}

/**
 * SQL to send ahead of a transaction: a twin that runs at the same time waits here until this one has ended. A
 * lock by number, because a reserved row would have to be written twice. Throws 55P03 after the lock timeout.
 */
export function lockText({ scope, key }: Keyed): string {
  const place = hash("sha256", `${scope} ${key}`, "buffer").readBigInt64BE();
  return `select pg_advisory_xact_lock(${place})`;
}

/**
 * Fails where the key has been answered (22012), and with it every statement that follows in its transaction. So
 * nobody has to wait for it before the work is begun.
 */
export function refuseRecorded(sql: Sql, { scope, key }: Keyed) {
  // Not in the where: without statistics the planner takes the index by expiry, and walks it.
  return sql`
    select 1 / (1 - count(*) filter (where expires_at > now())) from idempotency_records
    where property_id = ${scope} and key = ${key}`;
}

/** Whether a statement has failed because the key has been answered. */
export function isRecorded(error: unknown): boolean {
  return isSqlState(error, "22012") || isSqlState(error, "23502", { table_name: "idempotency_records" });
}

/** The recorded answer when the operation was already done; null when the key is ours to use. */
export async function findRecorded(
  sql: Sql,
  { scope, key, fingerprint }: Keyed,
): Promise<{ status: number; body: string } | null> {
  const [row] = await sql<{ fingerprint: Buffer; status: number; body: string }[]>`
    select fingerprint, status, body from idempotency_records
    where property_id = ${scope} and key = ${key} and expires_at > now()`;
  if (!row) return null;
  if (!row.fingerprint.equals(fingerprint)) throw new Fault("idempotency_key_reused");
  return { status: row.status, body: row.body };
}

/**
 * The part that keeps an answer under its key. An expired record gives way; over one that stands, which only a
 * writer on another server can have left, the null key undoes the transaction.
 */
export function recordPart(keyed: Keyed, operation: string, { status, body }: Recorded): Part {
  const { scope, key, fingerprint } = keyed;
  return {
    text: recording(body === "answered" ? "(select body from answered)" : "$kept_body"),
    values: { scope, key, fingerprint, operation, kept_status: status, kept_body: body },
  };
}

function recording(body: string): string {
  return `recorded as (
    insert into idempotency_records as r (property_id, key, fingerprint, operation, status, body)
    values ($scope, $key, $fingerprint, $operation, $kept_status, ${body})
    on conflict (property_id, key) do update
      set key = case when r.expires_at <= now() then excluded.key end, fingerprint = excluded.fingerprint,
        operation = excluded.operation, status = excluded.status, body = excluded.body,
        created_at = excluded.created_at, expires_at = excluded.expires_at
  )`;
}

/** Whether a twin has kept the key longer than a call waits. */
export function isLockTimeout(error: unknown): boolean {
  return isSqlState(error, "55P03");
}

export function keyInUse(cause: unknown): Fault {
  return new Fault("idempotency_key_in_use", { retryAfter: 1, cause });
}
