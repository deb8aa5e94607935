import { vi } from "vitest";
import type { Sql } from "#db/database.ts";
import type { TestService } from "./service.ts";

/** How many rows of the tables the properties' transactions read meanwhile. */
export async function rowsRead(
  service: TestService,
  tables: readonly string[],
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const { db } = service.internals;
  const { asProperty } = db;
  const read: Record<string, number> = {};
  const spy = vi.spyOn(db, "asProperty").mockImplementation((property, inside, options) =>
    asProperty(
      property,
      async (sql, last) => {
        // The server's figures may still have the session's last transactions in them.
        await addCounts(sql, tables, read, -1);
        const result = await inside(sql, last);
        await addCounts(sql, tables, read, 1);
        return result;
      },
      options,
    ),
  );
  await work().finally(() => spy.mockRestore());
  return read;
}

async function addCounts(
  sql: Sql,
  tables: readonly string[],
  read: Record<string, number>,
  factor: number,
): Promise<void> {
  const counts = await sql<{ name: string; rows: number }[]>`
    select relname as name, (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
    where relname = any(${tables}::text[])`;
  for (const { name, rows } of counts) read[name] = (read[name] ?? 0) + factor * rows;
}
