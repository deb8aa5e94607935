import type { Sql } from "#db/database.ts";
import { Fault } from "#runtime/faults.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";

/** Failures allowed in a quarter of an hour, by account and by address. */
const LIMITS = { account: 5, address: 20 };
const WINDOW = 900;

/**
 * Counts a sign-in before its password is checked, so that many at once cannot pass together. Throws `rate_limited`.
 * Call `forgive` after a correct password.
 */
export async function countTry(
  sql: Sql,
  what: string,
  account: string,
  ip: string | undefined,
): Promise<void> {
  const rows = await sql<{ bucket: string; used: number; reset: number; wait: number }[]>`
    insert into rate_windows (bucket, window_start, used)
    select bucket, ${windowStart(sql)}, 1 from unnest(${buckets(what, account, ip)}::text[]) as bucket order by 1
    on conflict (bucket, window_start) do update set used = rate_windows.used + 1
    returning bucket, used, (window_start + ${WINDOW})::double precision as reset,
      ceil(window_start + ${WINDOW} - extract(epoch from clock_timestamp()))::int as wait`;
  const over = rows.find(({ bucket, used }) => used > limitOf(bucket));
  if (!over) return;
  const { bucket, reset, wait } = over;
  throw new Fault("rate_limited", {
    retryAfter: Math.max(1, wait),
    window: { limit: limitOf(bucket), reset },
    commitWrites: true,
  });
}

/** A successful sign-in does not count. */
export async function forgive(
  sql: Sql,
  what: string,
  account: string,
  ip: string | undefined,
): Promise<void> {
  await sql`
    update rate_windows set used = case when bucket like '%:ip:%' then greatest(used - 1, 0) else 0 end
    where bucket = any(${buckets(what, account, ip)}::text[]) and window_start = ${windowStart(sql)}`;
}

function limitOf(bucket: string): number {
  return bucket.includes(":ip:") ? LIMITS.address : LIMITS.account;
}

function windowStart(sql: Sql) {
  return sql`(floor(extract(epoch from now()) / ${WINDOW}::int) * ${WINDOW}::int)::bigint`;
}

function buckets(what: string, account: string, ip: string | undefined): string[] {
  return [`${what}:account:${account}`, `${what}:ip:${networkOf(ip ?? "local")}`];
}
