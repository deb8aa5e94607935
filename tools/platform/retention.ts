import type { Sql } from "#db/database.ts";
import { type Month, monthOf } from "#db/partitions/month.ts";
import type { Partition, Partitioned } from "#db/partitions/partitions.ts";
import type { Retention } from "#runtime/retention.ts";

/** Tables whose months end together, in the order in which they are dropped. */
export const KEPT_TOGETHER: Readonly<Record<keyof Retention, readonly [string, ...string[]]>> = {
  audit_logs: ["audit_logs"],
  mailbox_messages: ["mailbox_messages"],
  webhooks: ["webhook_deliveries", "outbox"],
};

export interface EndedMonth {
  kept: keyof Retention;
  month: Month;
  partitions: Partition[];
}

/**
 * The months whose retention has ended, oldest first. A partition has rows of all properties, so the longest wish of
 * any property holds.
 */
export function endedMonths(
  tables: readonly Partitioned[],
  service: Retention,
  wishes: readonly Partial<Retention>[],
  now: number,
): EndedMonth[] {
  return Object.entries(KEPT_TOGETHER).flatMap(([name, together]) => {
    const kept = name as keyof Retention;
    const months = Math.max(service[kept], ...wishes.map((wish) => wish[kept] ?? 0));
    const own = tables.filter(({ table }) => together.includes(table));
    const ended = [...new Set(own.flatMap((one) => one.months))].filter(
      (month) => month < monthOf(now) - months,
    );
    return ended
      .sort((a, b) => a - b)
      .map((month) => ({
        kept,
        month,
        partitions: together.flatMap((table) =>
          own.some((one) => one.table === table && one.months.includes(month)) ? [{ table, month }] : [],
        ),
      }));
  });
}

export async function propertyWishes(sql: Sql): Promise<{ id: string; retention: Partial<Retention> }[]> {
  return [
    ...(await sql<{ id: string; retention: Partial<Retention> }[]>`select id, retention from properties`),
  ];
}
