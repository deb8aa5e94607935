import type { Context } from "#runtime/context.ts";
import type { Campaign } from "./campaign.ts";

/** A campaign that gives way asks again after so many seconds. */
export const ASK_AGAIN = 2;
// A shift takes ten seconds: the lower campaign gets one of four at the least, and never starves.
const MOST_TIMES = 15;

/**
 * Whether a campaign that has given way so many times leaves this shift too to one of a higher priority that sends by
 * the same channel, and has something to hand over now: its delivery, a `job` of that name, does not wait for a later
 * time. What frequency caps leave is taken by whoever claims first, and so by the higher one.
 */
export async function givesWay(
  { sql, property }: Pick<Context, "sql" | "property">,
  { id, channel, priority, status }: Campaign,
  { job, times }: { job: string; times: number },
): Promise<boolean> {
  if (status !== "sending" || times >= MOST_TIMES) return false;
  const [higher] = await sql`
    select from campaigns c
    where c.property_id = ${property.id} and c.id <> ${id} and c.status = 'sending' and c.priority > ${priority}
      and c.channel = ${channel} and c.planned_at is not null and c.deleted_at is null
      and not exists (select from queue q
        where q.name = ${job} and q.dedupe = c.id::text and q.state = 'ready' and q.run_at > now())
    limit 1`;
  return higher !== undefined;
}
