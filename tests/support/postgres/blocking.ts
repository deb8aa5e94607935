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
  const waiting = await waitingFor(admin);
  await vi.waitFor(async () => expect((await waiting()).length).toBeGreaterThanOrEqual(count), {
    timeout,
    interval: 10,
  });
}

/** Resolves when at least so many waits for locks have been seen, also such as have ended. */
export async function lockWaitsSeen(admin: postgres.Sql, count: number, timeout = 15_000): Promise<void> {
  const waiting = await waitingFor(admin);
  const seen = new Set<string>();
  await vi.waitFor(
    async () => {
      for (const wait of await waiting()) seen.add(wait);
      expect(seen.size).toBeGreaterThanOrEqual(count);
    },
    { timeout, interval: 20 },
  );
}

/** Asks which statements wait for locks. On a Citus cluster a row's lock is waited for on the node of the row. */
async function waitingFor(admin: postgres.Sql): Promise<() => Promise<string[]>> {
  const isCluster = await hasCitus(admin);
  const [view, backend] = isCluster ? ["citus_stat_activity", "nodeid"] : ["pg_stat_activity", "datid"];
  return async () => {
    const rows = await admin<{ wait: string }[]>`
      select concat_ws(' ', ${admin(backend)}, pid, query_start) as wait from ${admin(view)}
      where datname = current_database() and wait_event_type = 'Lock'`;
    return rows.map(({ wait }) => wait);
  };
}

/**
 * Ends the connections that wait for a lock of this table, as soon as there are any. On a Citus cluster they wait on
 * another node, where the statement has another text.
 */
export async function endLockWaits(admin: postgres.Sql, table: string): Promise<void> {
  const isCluster = await hasCitus(admin);
  await vi.waitFor(
    async () => {
      const named = `%${table}%`;
      const ended = isCluster
        ? await admin`
            select pg_terminate_backend(waiting_gpid) from citus_lock_waits where blocked_statement like ${named}`
        : await admin`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like ${named}`;
      expect(ended.length).toBeGreaterThan(0);
    },
    { timeout: 10_000, interval: 10 },
  );
}

async function hasCitus(admin: postgres.Sql): Promise<boolean> {
  return (await admin`select from pg_extension where extname = 'citus'`).length > 0;
}
