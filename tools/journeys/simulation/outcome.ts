import { type Fragment, sql } from "#db/sql.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { SimulatedOutcome } from "./answer.ts";
import { collisions, costs, peaks } from "./load.ts";

/** The table of `noteDeferred`. Made before the transaction forbids other writes. */
export async function prepareNotes({ sql: transaction }: Tenant): Promise<void> {
  await transaction`
    create temporary table deferred_sends (send_id uuid, reason text, primary key (send_id, reason)) on commit drop`;
}

/** Notes the messages that were put off at this time, each once a reason. */
export async function noteDeferred({ sql: transaction, property }: Tenant, at: string): Promise<void> {
  await transaction`
    insert into deferred_sends (send_id, reason)
    select s.id, reason from campaign_sends s cross join unnest(s.skip_reasons) reason
    where s.property_id = ${property.id} and s.is_open and s.status = 'deferred' and s.updated_at = ${at}
      and s.campaign_id in (select n.campaign_id from journey_nodes n where n.property_id = ${property.id})
    on conflict do nothing`;
}

/** All that has become of the people of a simulated journey. */
export async function outcomeOf(context: Context, journeyId: string): Promise<SimulatedOutcome> {
  const { sql: transaction, property } = context;
  const own = sql`${property.id}::uuid`;
  const dayOf = (time: Fragment) =>
    sql`to_char(${time} at time zone ${property.timezone}::text, 'YYYY-MM-DD')`;
  const entries = sql`journey_enrollments e where e.property_id = ${own} and e.journey_id = ${journeyId}::uuid`;
  const messages = sql`campaign_sends s
    join journey_nodes n on n.property_id = ${own} and n.campaign_id = s.campaign_id
    where s.property_id = ${own}`;
  return {
    moves: await transaction<SimulatedOutcome["moves"]>`
      select ${dayOf(sql`a.at`)} as day, a.before as "from", a.node as "to", count(*)::int as people
      from (
        select p.node, p.at, coalesce(lag(p.node) over (partition by e.id order by p.position), '') as before
        from (select * from ${entries}) e
          cross join unnest(e.path, e.path_at) with ordinality p(node, at, position)) a
      group by 1, 2, 3 order by 1, 2, 3`,
    ends: await transaction<SimulatedOutcome["ends"]>`
      select ${dayOf(sql`e.ended_at`)} as day, e.node, e.exit_reason as reason, count(*)::int as people
      from ${entries} and e.status <> 'active' group by 1, 2, 3 order by 1, 2, 3`,
    sends: await transaction<SimulatedOutcome["sends"]>`
      select ${dayOf(sql`s.sent_at`)} as day, n.node, s.channel, count(*)::int as messages
      from ${messages} and s.status = 'sent' group by 1, 2, 3 order by 1, 2, 3`,
    not_sent: await transaction<SimulatedOutcome["not_sent"]>`
      select k.node, reason, count(*)::int as messages
      from (select n.node, s.skip_reasons from ${messages} and s.status in ('skipped', 'cancelled')) k
        cross join unnest(k.skip_reasons) reason
      group by 1, 2 order by 1, 3 desc, 2`,
    deferred: await transaction<SimulatedOutcome["deferred"]>`
      select n.node, w.reason, count(*)::int as messages
      from deferred_sends w
        join campaign_sends s on s.property_id = ${own} and s.id = w.send_id
        join journey_nodes n on n.property_id = ${own} and n.campaign_id = s.campaign_id
      group by 1, 2 order by 1, 2`,
    cost: await costs(context, journeyId),
    peaks: await peaks(context),
    collisions: await collisions(context),
    timelines: await transaction<SimulatedOutcome["timelines"]>`
      select t.player_id, t.status, t.exit_reason, (
          select json_agg(json_build_object('node', p.node, 'at', p.at) order by p.position)
          from unnest(t.path, t.path_at) with ordinality p(node, at, position)) as steps
      from (select distinct on (e.path) e.* from ${entries} order by e.path, e.player_id) t
      order by cardinality(t.path) desc, t.player_id limit 3`,
  };
}
