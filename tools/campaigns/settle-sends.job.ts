import { z } from "zod";
import { type Context, job } from "#runtime/operation.ts";

/** How long a provider may take to tell what became of a message. */
const SETTLE_AFTER_SECONDS = 24 * 3600;

/** A send that nobody could tell about for a day has failed; it is not sent again. */
const settleSends = job({
  name: "settle_sends",
  attempts: 20,
  input: z.object({ campaignId: z.uuid() }),
  handler: ({ transact }, { campaignId }) =>
    transact(async ({ sql, property }) => {
      await sql`
        update campaign_sends set status = 'failed', updated_at = now()
        where property_id = ${property.id} and campaign_id = ${campaignId} and status = 'unknown'
          and claimed_at <= now() - make_interval(secs => ${SETTLE_AFTER_SECONDS})`;
    }),
});
export default settleSends;

/** Of a campaign that ends with messages of which nobody can tell what became. */
export async function settleLater(
  { sql, property, enqueue }: Pick<Context, "sql" | "property" | "enqueue">,
  campaignId: string,
): Promise<void> {
  const [open] = await sql`
    select from campaign_sends
    where property_id = ${property.id} and campaign_id = ${campaignId} and status in ('unknown', 'sending')
    limit 1`;
  if (open) enqueue(settleSends, { campaignId }, { dedupe: campaignId, runAt: SETTLE_AFTER_SECONDS + 60 });
}
