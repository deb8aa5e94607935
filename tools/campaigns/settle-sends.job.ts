import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { job } from "#runtime/operation.ts";
import { announceSends, withIds } from "./announce.ts";
import { refreshSoon } from "./refresh-campaign-stats.job.ts";

/** How long a provider may take to tell what became of a message. */
const SETTLE_AFTER_SECONDS = 24 * 3600;

type Subject = z.output<typeof Subject>;
/** A campaign, or one send that is of none: a test. */
const Subject = z.union([z.object({ campaignId: z.uuid() }), z.object({ sendId: z.uuid() })]);

/**
 * A send that nobody could tell about for a day has failed, and may have arrived: it is not sent again, and counts
 * against caps. Looks again while any is left.
 */
const settleSends = job({
  name: "settle_sends",
  attempts: 20,
  input: Subject,
  handler: ({ transact }, subject) =>
    transact(async (context) => {
      const { sql, property } = context;
      const ofSubject =
        "sendId" in subject ? sql`id = ${subject.sendId}` : sql`campaign_id = ${subject.campaignId}`;
      const settled = await sql<{ id: string }[]>`
        update campaign_sends set status = 'failed', repeats = true, updated_at = now()
        where property_id = ${property.id} and ${ofSubject} and status in ('unknown', 'sending')
          and claimed_at <= now() - make_interval(secs => ${SETTLE_AFTER_SECONDS})
        returning id`;
      if (settled.length > 0 && "campaignId" in subject) {
        const ids = settled.map(({ id }) => id);
        await announceSends(context, "campaign.message_failed", withIds(context, ids));
        await refreshSoon(context, [subject.campaignId]);
      }
      const [left] = await sql<{ age: number | null }[]>`
        select extract(epoch from now() - min(claimed_at))::double precision as age from campaign_sends
        where property_id = ${property.id} and ${ofSubject} and status in ('unknown', 'sending')`;
      if (typeof left?.age === "number") settleLater(context, subject, left.age);
    }),
});
export default settleSends;

/** Of messages of which nobody can tell what became; the oldest was claimed `age` seconds ago. */
export function settleLater({ enqueue }: Pick<Context, "enqueue">, subject: Subject, age = 0): void {
  const dedupe = "sendId" in subject ? subject.sendId : subject.campaignId;
  enqueue(settleSends, subject, { dedupe, runAt: Math.max(0, SETTLE_AFTER_SECONDS - age) + 60 });
}
