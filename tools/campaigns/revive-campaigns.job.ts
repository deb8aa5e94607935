import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { literals } from "#db/sql.ts";
import { enqueue } from "#runtime/jobs/queue.ts";
import { job } from "#runtime/operation/job.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import chooseWinner from "./choose-winner.job.ts";
import deliverCampaign from "./delivery/deliver-campaign.job.ts";
import fireCampaign from "./fire-campaign.job.ts";
import planCampaign from "./plan-campaign.job.ts";

const WORKING = [planCampaign.name, deliverCampaign.name, chooseWinner.name, fireCampaign.name];

interface Stranded {
  property_id: string;
  id: string;
  status: string;
}

/**
 * Gives a campaign that is due or under way its job again after the job has died with its workers. Otherwise the
 * campaign would stand still. Both jobs begin where the last one stopped. Wakes the job of a campaign whose last
 * waiting messages were cancelled. Otherwise it would wait for their time before it ends the campaign.
 */
export default job({
  name: "revive_campaigns",
  attempts: 3,
  every: "*/5 * * * *",
  input: z.object({}),
  handler: ({ transactSystem, log }) =>
    transactSystem(async (sql) => {
      for (const { property_id: propertyId, id: campaignId, status } of await stranded(sql)) {
        const next = status === "scheduled" ? fireCampaign : planCampaign;
        await enqueue(sql, next, { campaignId }, { propertyId, dedupe: campaignId });
        log.warn({ campaignId, propertyId }, "the campaign had no job any more, and has one again");
      }
      for (const { property_id: propertyId, id: campaignId } of await emptied(sql)) {
        await enqueue(sql, deliverCampaign, { campaignId }, { propertyId, dedupe: campaignId });
      }
    }),
});

/** The campaigns first: one whose job ends meanwhile has moved on, and another job does nothing. */
async function stranded(sql: Sql): Promise<Stranded[]> {
  const open = await sql<Stranded[]>`
    select property_id, id, status from campaigns c
    where deleted_at is null and (status in ('queued', 'sending') and (journey_id is null or exists (
        select from campaign_sends s
        where s.property_id = c.property_id and s.campaign_id = c.id and s.is_open and s.status in (${literals(WAITING_SENDS)})))
      or status = 'scheduled' and coalesce(fires_at, scheduled_at) < now() - interval '1 minute')`;
  if (open.length === 0) return [];
  const alive = await sql<{ id: string }[]>`
    select distinct input ->> 'campaignId' as id from queue
    where state <> 'dead' and name = any(${WORKING}::text[])`;
  const ids = new Set(alive.map(({ id }) => id));
  return open.filter(({ id }) => !ids.has(id));
}

/** Campaigns whose job sleeps until a message is due, though none waits any more. */
async function emptied(sql: Sql): Promise<Pick<Stranded, "property_id" | "id">[]> {
  const sleeping = await sql<Pick<Stranded, "property_id" | "id">[]>`
    select property_id, dedupe as id from queue
    where name = ${deliverCampaign.name} and state = 'ready' and run_at > now() + interval '5 minutes'`;
  const empty = [];
  for (const one of sleeping) {
    const waiting = await sql`
      select from campaign_sends
      where property_id = ${one.property_id} and campaign_id = ${one.id}
        and status in (${literals(WAITING_SENDS)}, 'sending')
      limit 1`;
    if (waiting.length === 0) empty.push(one);
  }
  return empty;
}
