import { type Fragment, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** A campaign may have millions of sends: no statement reads more of them than this. */
const PAGE = 50_000;

/** The sends to count. */
export interface Counting {
  /** The key of a send `s` by which it is counted, as SQL; null for one that does not count. */
  key: Fragment;
  /** Counting ends then, on the clock of `performance`. */
  countUntil: number;
  page?: number | undefined;
}

/** Counts the sends of a campaign by a key, a page at a time. */
export async function countSends(
  { sql: transaction, property }: Tenant,
  { id, journey_id }: { id: string; journey_id: string | null },
  { key, countUntil, page = PAGE }: Counting,
): Promise<{ counts: Record<string, number>; isWhole: boolean }> {
  const counts: Record<string, number> = {};
  for (let last = NIL_UUID, read = page; read === page; ) {
    if (performance.now() > countUntil) return { counts, isWhole: false };
    // Only the sends of journeys have an index of the open ones: their campaigns have no end.
    const [counted] = await transaction<[{ read: number; last: string | null; counts: typeof counts }]>`
      with page as materialized (
        select s.id, ${key} as key from campaign_sends s
        where s.property_id = ${property.id} and s.campaign_id = ${id} and s.id > ${last}
          ${journey_id === null ? sql`` : sql`and s.is_open`}
        order by s.id limit ${page}
      ), counted as (
        select key, count(*)::int as sends from page where key is not null group by key
      )
      select (select count(*)::int from page) as read, (select id from page order by id desc limit 1) as last,
        coalesce((select json_object_agg(key, sends) from counted), '{}') as counts`;
    for (const [name, sends] of Object.entries(counted.counts)) counts[name] = (counts[name] ?? 0) + sends;
    read = counted.read;
    last = counted.last ?? last;
  }
  return { counts, isWhole: true };
}
