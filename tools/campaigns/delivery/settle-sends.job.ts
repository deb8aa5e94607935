import type { Fragment } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { SETTLE_AFTER_SECONDS, SETTLE_SENDS, settleLater } from "#tools/campaigns/campaign/jobs.ts";
import { refreshSoon } from "#tools/tracking/stats-refresh.ts";
import { emitSendEvents, withIds } from "./send-events.ts";

/**
 * Fails sends that have had no outcome for a day. They may have arrived, so they are not sent again, and they count
 * against caps. Runs again while sends without an outcome are left.
 */
export default job({
  ...SETTLE_SENDS,
  handler: ({ transact }, input) =>
    transact(async (context) => {
      const { sql } = context;
      const subject = "sendId" in input ? sql`id = ${input.sendId}` : sql`campaign_id = ${input.campaignId}`;
      const settled = await settle(context, subject);
      if (settled.length > 0 && "campaignId" in input) {
        await emitSendEvents(context, "campaign.message_failed", withIds(settled));
        await refreshSoon(context, [input.campaignId]);
      }
      const age = await oldestOpen(context, subject);
      if (age !== null) settleLater(context, input, age);
    }),
});

async function settle({ sql, property }: Tenant, subject: Fragment): Promise<string[]> {
  const settled = await sql<{ id: string }[]>`
    update campaign_sends set status = 'failed', repeats = true, updated_at = now()
    where property_id = ${property.id} and ${subject} and status in ('unknown', 'sending')
      and claimed_at <= now() - make_interval(secs => ${SETTLE_AFTER_SECONDS})
    returning id`;
  return settled.map(({ id }) => id);
}

/** Seconds since the oldest claim that has no outcome; null when there is none. */
async function oldestOpen({ sql, property }: Tenant, subject: Fragment): Promise<number | null> {
  const [open] = await sql<{ age: number | null }[]>`
    select extract(epoch from now() - min(claimed_at))::double precision as age from campaign_sends
    where property_id = ${property.id} and ${subject} and status in ('unknown', 'sending')`;
  return open?.age ?? null;
}
