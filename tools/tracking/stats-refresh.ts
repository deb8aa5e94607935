import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";

/** Reference to the job that counts a campaign. The job stands above the domains that enqueue it. */
export const REFRESH_STATS = {
  name: "refresh_campaign_stats",
  attempts: 5,
  input: z.object({ campaignId: z.uuid() }),
};

/** Least seconds between two counts of a campaign. */
export const REFRESH_EVERY = 15;
const COUNTED_A_SECOND = 20_000;
const MOST_REMEMBERED = 10_000;

/** The time at which this process may next request a campaign's count: a thousand clicks make one request. */
const nextRequestAt = new Map<string, number>();

/** Requests new counts of the campaigns. A larger campaign waits longer. */
export async function refreshSoon(
  { sql, property, enqueue }: Pick<Context, "sql" | "property" | "enqueue">,
  ids: readonly string[],
): Promise<void> {
  const now = performance.now();
  const due = ids.filter((id) => (nextRequestAt.get(id) ?? 0) <= now);
  if (due.length === 0) return;
  if (nextRequestAt.size > MOST_REMEMBERED) nextRequestAt.clear();
  const campaigns = await sql<{ id: string; audience_count: number }[]>`
    select c.id, c.audience_count from json_to_recordset(${due.map((id) => ({ id }))}::json) as d(id uuid)
    join campaigns c on c.property_id = ${property.id} and c.id = d.id`;
  for (const { id, audience_count } of campaigns) {
    const wait = Math.max(REFRESH_EVERY, audience_count / COUNTED_A_SECOND);
    nextRequestAt.set(id, now + wait * 1000);
    enqueue(REFRESH_STATS, { campaignId: id }, { dedupe: id, runAt: wait });
  }
}
