import type postgres from "postgres";
import { expect, vi } from "vitest";

/** Another transaction on the database that stays open, and what it does first; the answer takes it back. */
export async function openTransaction(
  admin: postgres.Sql,
  work: (sql: postgres.TransactionSql) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const ready = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const running = admin.begin(async (sql) => {
    await work(sql);
    ready.resolve();
    await release.promise;
    throw new Error("taken back");
  });
  running.catch(ready.reject);
  await ready.promise;
  return async () => {
    release.resolve();
    await running.catch(() => {});
  };
}

/** Resolves when at least so many sessions of the database wait for locks. */
export function lockWaits(admin: postgres.Sql, count: number, timeout = 10_000): Promise<void> {
  return vi.waitFor(
    async () => {
      const [row] = await admin`
        select count(*)::int as sessions from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      expect(row!.sessions).toBeGreaterThanOrEqual(count);
    },
    { timeout, interval: 10 },
  );
}
