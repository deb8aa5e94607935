import { adHoc, cte, join, literals, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import deliverCampaign from "#tools/campaigns/delivery/deliver-campaign.job.ts";
import { plannedCtes } from "#tools/campaigns/planning/plan.ts";
import { NOT_SENT, SENT } from "#tools/journeys/nodes/message.ts";
import type { Moment } from "#tools/journeys/nodes/node.ts";
import { SETTLED_SENDS, WAITING_SENDS } from "#tools/statuses/sends.ts";
import { leavingCases } from "./leaving.ts";
import { type Moved, type Movement, move } from "./move.ts";

/**
 * Plans the message of a node to the people who are due there. Those who have a reason to leave, leave instead. The
 * campaign of the node carries the message: gate, hours, caps and addresses are its own.
 */
export async function plan(
  context: Context,
  moment: Moment,
  movement: Pick<Movement, "version" | "node">,
  campaignId: string,
): Promise<Moved> {
  const moved = await move(context, moment, { ...movement, phase: "ready", next: sql`null::text` });
  if (moved.staying.length > 0) await planFor(context, moment, campaignId, moved.staying);
  return moved;
}

async function planFor(context: Context, { now, at }: Moment, campaignId: string, enrollments: string[]) {
  const { property } = context;
  const campaign = await findCampaign(context, campaignId, { lock: true });
  const page = sql`
    select p.*, d.id as enrollment_id, d.entry_key || '/' || d.entry || '/' || d.visit as round
    from unnest(${enrollments}::uuid[]) w(id)
      join journey_enrollments d on d.property_id = ${property.id}::uuid and d.id = w.id
      join players p on p.property_id = ${property.id}::uuid and p.id = d.player_id
    order by d.id`;
  const people = { page, carried: ["enrollment_id", "round"], round: sql`round`, at };
  const parts = join([
    plannedCtes(context, campaign, people),
    cte("given", sql`select key, send_id from planned union all select key, send_id from doubled`),
    cte(
      "waiting_people",
      sql`
        update journey_enrollments e set phase = 'sending', send_id = g.send_id, wake_at = null, updated_at = ${now}
        from given g where e.property_id = ${property.id}::uuid and e.id = g.key`,
    ),
    cte(
      "counted",
      sql`
        update campaigns set audience_count = audience_count + (select count(*)::int from judged)
        where property_id = ${property.id}::uuid and id = ${campaignId}::uuid`,
    ),
  ]);
  await context.sql`${adHoc(sql`with ${parts} select 1`)}`;
  context.enqueue(deliverCampaign, { campaignId }, { dedupe: campaignId });
}

/** Takes back the messages that wait for people who have a reason to leave meanwhile, and lets these leave. */
export function recall(
  context: Context,
  moment: Moment,
  movement: Pick<Movement, "version" | "node">,
): Promise<Moved> {
  const own = sql`${context.property.id}::uuid`;
  const { cases } = leavingCases(moment, movement.version);
  return move(context, moment, {
    ...movement,
    phase: "sending",
    join: sql`join campaign_sends s on s.property_id = ${own} and s.id = d.send_id
      left join players p on p.property_id = ${own} and p.id = d.player_id`,
    due: sql`s.status in (${literals(WAITING_SENDS)}) and (case ${cases} end) is not null`,
    next: sql`null::text`,
    recalls: true,
  });
}

/** Moves the people whose message has an outcome. */
export function settle(
  context: Context,
  moment: Moment,
  movement: Pick<Movement, "version" | "node">,
): Promise<Moved> {
  return move(context, moment, {
    ...movement,
    phase: "sending",
    columns: sql`, s.status as send_status`,
    join: sql`join campaign_sends s on s.property_id = ${context.property.id}::uuid and s.id = d.send_id`,
    due: sql`s.status = any(${SETTLED_SENDS}::text[])`,
    next: sql`case when d.send_status in ('sent', 'delivered') then ${SENT} else ${NOT_SENT} end`,
  });
}
