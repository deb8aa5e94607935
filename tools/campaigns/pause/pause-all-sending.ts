import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { changeStatus } from "#tools/campaigns/campaign/campaign.ts";
import { countedApart, JOURNEY_MESSAGES, lockPause } from "#tools/campaigns/campaign/property-pause.ts";

export default tool({
  name: "pause_all_sending",
  title: "Pause all sending",
  description:
    "Stops all campaigns of the property at once, and tests too: campaigns that are queued or sending become paused, and scheduled ones wait when their time comes. Replies to STOP and HELP still go out. Safe to repeat; resume_all_sending ends it.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    reason: z.string().trim().min(1).max(500).optional().describe("Shown with each paused campaign"),
  },
  output: z.object({
    success: z.literal(true),
    since: timestamp(),
    paused: z.int().describe("Campaigns that this call has paused"),
    journey_messages: JOURNEY_MESSAGES,
    scheduled: z.int().describe("Scheduled campaigns that wait now"),
  }),
  faults: ["invalid"],
  async handler(context, { reason }) {
    const { sql, property } = context;
    const pause = await lockPause(context, "alone");
    const id = pause?.id ?? randomUUIDv7();
    if (!pause) {
      const { type, id: actor } = context.call.actor;
      await sql`
        insert into sending_pauses (property_id, id, reason, is_open, actor_type, actor_id)
        values (${property.id}, ${id}, ${reason ?? null}, true, ${type}, ${actor})`;
    }
    const { ids, campaigns, journey_messages } = await pauseCampaigns(
      context,
      reason ?? pause?.reason ?? null,
    );
    const [row] = await sql<{ since: string; scheduled: number }[]>`
      with kept as (
        update sending_pauses set campaign_ids = campaign_ids || ${ids}::uuid[], updated_at = now()
        where property_id = ${property.id} and id = ${id} returning 1
      )
      select to_json(p.created_at) #>> '{}' as since, (
        select count(*)::int from campaigns c
        where c.property_id = ${property.id} and c.status = 'scheduled' and c.deleted_at is null) as scheduled
      from sending_pauses p where p.property_id = ${property.id} and p.id = ${id}`;
    context.audit({ entity: "sending_pauses", entityId: id, diff: { paused: ids.length } });
    return { success: true as const, paused: campaigns, journey_messages, ...row! };
  },
});

async function pauseCampaigns(context: Context, reason: string | null) {
  const { sql, property } = context;
  const running = await sql<{ id: string; journey_id: string | null }[]>`
    select id, journey_id from campaigns
    where property_id = ${property.id} and status in ('queued', 'sending') and deleted_at is null
    order by id for no key update`;
  const status_reason = `all sending is paused${reason === null ? "" : `: ${reason}`}`;
  for (const { id } of running) await changeStatus(context, id, "pauseAll", { status_reason });
  const ids = running.map(({ id }) => id);
  return { ids, ...countedApart(running) };
}
