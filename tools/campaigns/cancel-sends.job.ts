import { z } from "zod";
import { literals } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import { job } from "#runtime/operation/job.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { settleLater } from "./campaign/jobs.ts";

const CHUNK = 10_000;

/** Marks the unsent sends of a cancelled campaign. No claim takes them meanwhile. */
export default job({
  name: "cancel_sends",
  attempts: 20,
  input: z.object({ campaignId: z.uuid() }),
  async handler({ transact, signal }, { campaignId }) {
    for (let after: string | null = NIL_UUID; after !== null; ) {
      signal.throwIfAborted();
      const from: string = after;
      after = await transact(async ({ sql, property }) => {
        const [marked] = await sql<{ last: string | null }[]>`
          with picked as materialized (
            select s.id from campaign_sends s
            join campaigns c on c.property_id = ${property.id} and c.id = s.campaign_id and c.status = 'cancelled'
            where s.property_id = ${property.id} and s.campaign_id = ${campaignId} and s.id > ${from}
              and s.status in (${literals(WAITING_SENDS)})
            order by s.id limit ${CHUNK} for update of s
          ), marked as (
            update campaign_sends s set status = case when s.repeats then 'unknown' else 'cancelled' end, updated_at = now()
            from picked where s.property_id = ${property.id} and s.id = picked.id
          )
          select (array_agg(id order by id))[${CHUNK}::int] as last from picked`;
        return marked?.last ?? null;
      });
    }
    await transact(async (context) => settleLater(context, { campaignId }));
  },
});
