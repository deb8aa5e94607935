import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { emitMany } from "#runtime/outbox.ts";

/** What a campaign is for. */
export const Goal = z.strictObject({
  event: z.string().trim().min(1).max(100).describe("The name of a player event, such as deposit"),
  window_hours: z.int().min(1).max(720).default(72).describe("How long after the message it counts"),
});
export type Goal = z.output<typeof Goal>;

/** Marks the recipients who reached the campaign's goal since the last time; the first event in the window counts. */
export async function markConversions(
  { sql, property }: Pick<Context, "sql" | "property">,
  campaignId: string,
  { event, window_hours }: Goal,
): Promise<void> {
  const [start] = await sql<{ started_at: string | null }[]>`
    select started_at from campaigns where property_id = ${property.id} and id = ${campaignId}`;
  if (!start?.started_at) return;
  const converted = await sql<{ id: string }[]>`
    with first as materialized (
      select s.id, min(e.occurred_at) as at
      from player_events e
      join campaign_sends s on s.property_id = ${property.id} and s.player_id = e.player_id
        and s.campaign_id = ${campaignId} and s.converted_at is null and s.status in ('sent', 'delivered')
        and e.occurred_at >= s.sent_at and e.occurred_at < s.sent_at + make_interval(hours => ${window_hours})
      where e.property_id = ${property.id} and e.name = ${event} and e.occurred_at >= ${start.started_at}
      group by s.id
    )
    update campaign_sends s set converted_at = f.at, updated_at = now()
    from first f
    where s.property_id = ${property.id} and s.id = f.id
    returning s.id`;
  if (converted.length === 0) return;
  await emitMany(
    sql,
    property.id,
    "campaign.converted",
    sql`
      select jsonb_build_object('id', s.id, 'campaign_id', s.campaign_id, 'player_id', s.player_id,
        'channel', s.channel, 'event', ${event}::text, 'at', s.converted_at) as object
      from json_to_recordset(${converted as never}::json) as c(id uuid)
      join campaign_sends s on s.property_id = ${property.id} and s.id = c.id`,
  );
}
