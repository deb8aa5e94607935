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
export async function lockWaits(admin: postgres.Sql, count: number, timeout = 10_000): Promise<void> {
  const { view } = await sessionsOf(admin);
  await vi.waitFor(
    async () => {
      const [row] = await admin`
        select count(*)::int as sessions from ${admin(view)}
        where datname = current_database() and wait_event_type = 'Lock'`;
      expect(row!.sessions).toBeGreaterThanOrEqual(count);
    },
    { timeout, interval: 10 },
  );
}

/** Ends the connections that wait for a lock of this table, as soon as there are any. */
export async function endLockWaits(admin: postgres.Sql, table: string): Promise<void> {
  const { view, id } = await sessionsOf(admin);
  await vi.waitFor(
    async () => {
      const ended = await admin`
        select pg_terminate_backend(${admin(id)}) from ${admin(view)}
        where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${table}%`}`;
      expect(ended.length).toBeGreaterThan(0);
    },
    { timeout: 10_000, interval: 10 },
  );
}

/** The sessions of a database. On a Citus cluster a row's lock is waited for on the node of the row. */
async function sessionsOf(admin: postgres.Sql): Promise<{ view: string; id: string }> {
  const [citus] = await admin`select from pg_extension where extname = 'citus'`;
  if (citus) return { view: "citus_stat_activity", id: "global_pid" };
  return { view: "pg_stat_activity", id: "pid" };
}
