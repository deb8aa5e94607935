import { z } from "zod";
import { job } from "#runtime/operation.ts";

/** How long a provider may take to tell what became of a message. */
export const SETTLE_AFTER_SECONDS = 24 * 3600;

/** A send that nobody could tell about for a day has failed; it is not sent again. */
export default job({
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
