import { randomUUIDv7 } from "node:crypto";
import type postgres from "postgres";
import { type Month, monthName, monthOf } from "#db/partitions/month.ts";
import { makePartition, partitionedTables } from "#db/partitions/partitions.ts";

/** The present month. */
export const PRESENT: Month = monthOf(Date.now());

/** The months that the partitioned tables have. */
export async function monthsIn(admin: postgres.Sql): Promise<Record<string, string[]>> {
  const tables = await partitionedTables((statement) => admin.unsafe(statement));
  return Object.fromEntries(tables.map(({ table, months }) => [table, months.map(monthName)]));
}

/** A partition of a month, as the service makes it. */
export async function makeMonth(admin: postgres.Sql, table: string, month: Month): Promise<void> {
  await admin.begin((sql) => makePartition((statement) => sql.unsafe(statement), { table, month }));
}

/** A UUIDv7 of a time. */
export function idAt(moment: number): string {
  const hex = moment.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}${randomUUIDv7().slice(13)}`;
}
