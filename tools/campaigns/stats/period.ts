import type { Tenant } from "#runtime/operation/context.ts";

/** Limits the time of the hand-over; for recipients without a message, the time of their planning. */
export interface Period {
  from?: string | undefined;
  to?: string | undefined;
}

export function isLimited({ from, to }: Period): boolean {
  return from !== undefined || to !== undefined;
}

/** The condition on `campaign_sends s`, which begins with `and`. */
export function within(sql: Tenant["sql"], { from, to }: Period) {
  return sql`${from ? sql`and coalesce(s.sent_at, s.created_at) >= ${from}::timestamptz` : sql``}
    ${to ? sql`and coalesce(s.sent_at, s.created_at) < ${to}::timestamptz` : sql``}`;
}
