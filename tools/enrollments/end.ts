import { adHoc, type Fragment, literals, sql } from "#db/sql.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { EventName } from "#runtime/operation/events.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import type { ExitReason } from "./exit-reasons.ts";

/**
 * Ends these enrollments, SQL over `journey_enrollments d`, counts them, and cancels messages that have not left. Answers
 * their number. A plan kept from a small table would compare all of them with each other, so none is kept.
 */
export async function endEnrollments(
  { sql: transaction, property }: Tenant,
  which: Fragment,
  reason: ExitReason,
): Promise<number> {
  const ended = await transaction<{ id: string; send_id: string | null }[]>`
    ${adHoc(sql`with clock as materialized (
      select now() as moment
    ), due as materialized (
      select d.id, d.version, d.journey_id, d.node, d.send_id from journey_enrollments d
      where d.property_id = ${property.id}::uuid and d.status = 'active' and ${which}
      order by d.id for no key update of d
    ), ended as (
      update journey_enrollments e
      set status = 'exited', exit_reason = ${reason}::text, ended_at = clock.moment, wake_at = null, phase = 'ready',
        send_id = null, updated_at = clock.moment
      from due, clock where e.property_id = ${property.id}::uuid and e.id = due.id
    ), counted as (
      insert into journey_counts (property_id, journey_id, version, from_node, edge, to_node, status, people)
      select ${property.id}::uuid, journey_id, version, node, ${reason}::text, '', 'exited', people
      from (select journey_id, version, node, count(*) as people from due group by 1, 2, 3) c
      order by journey_id, version, node
      on conflict (property_id, journey_id, version, from_node, edge, to_node, status)
        do update set people = journey_counts.people + excluded.people
    )
    select id, send_id from due`)}`;
  const sends = ended.flatMap(({ send_id }) => send_id ?? []);
  if (sends.length > 0) await cancelUnsent({ sql: transaction, property }, sends, reason);
  await announceEnrollments(
    { sql: transaction, property },
    "player.journey_exited",
    ended.map(({ id }) => id),
  );
  return ended.length;
}

/** A message that waits to be repeated may have arrived. */
async function cancelUnsent(
  { sql: transaction, property }: Tenant,
  sends: string[],
  reason: string,
): Promise<void> {
  await transaction`
    update campaign_sends set status = case when repeats then 'unknown' else 'cancelled' end,
      skip_reasons = array[${reason}::text], updated_at = now()
    where property_id = ${property.id} and id = any(${sends}::uuid[]) and status in (${literals(WAITING_SENDS)})`;
}

/** Ends everything that these players are in. */
export function endFor(tenant: Tenant, playerIds: readonly string[], reason: ExitReason): Promise<number> {
  return endEnrollments(tenant, sql`d.player_id = any(${[...playerIds]}::uuid[])`, reason);
}

/**
 * These players get no message by these channels any more. Ends their journeys that send by these channels alone, or
 * also by channels that the player refused before.
 */
export function endWithout(
  tenant: Tenant,
  playerIds: readonly string[],
  channels: readonly string[],
): Promise<number> {
  const only = sql`d.player_id = any(${[...playerIds]}::uuid[]) and exists (
    select from journey_versions v
      join players p on p.property_id = ${tenant.property.id} and p.id = d.player_id
    where v.property_id = ${tenant.property.id} and v.journey_id = d.journey_id and v.version = d.version
      and v.channels && ${[...channels]}::text[] and v.channels <@ (${[...channels]}::text[]
        || array(select key from jsonb_each_text(p.consents) where value = 'false')))`;
  return endEnrollments(tenant, only, "consent_revoked");
}

/** Emits an event about each of these enrollments, as they are now. */
export async function announceEnrollments(
  { sql: transaction, property }: Tenant,
  type: EventName,
  enrollments: readonly string[],
): Promise<void> {
  if (enrollments.length === 0) return;
  await emitMany(
    transaction,
    property.id,
    type,
    sql`
      select jsonb_build_object('id', d.id, 'journey_id', d.journey_id, 'version', d.version, 'player_id', d.player_id,
        'entry_key', d.entry_key, 'status', d.status, 'current_node_id', d.node, 'entered_at', d.entered_at,
        'ended_at', d.ended_at, 'exit_reason', d.exit_reason, 'goal_reached_at', d.goal_reached_at) as object
      from unnest(${[...enrollments]}::uuid[]) w(id)
        join journey_enrollments d on d.property_id = ${property.id} and d.id = w.id`,
  );
}
