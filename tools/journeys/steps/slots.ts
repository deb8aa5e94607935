import { adHoc, sql } from "#db/sql.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Moment } from "#tools/journeys/nodes/node.ts";
import { secondsOf, spacing } from "#tools/journeys/nodes/rate-limit.ts";
import { noteLook } from "./look.ts";
import { BATCH } from "./move.ts";
import type { Version } from "./version.ts";

/**
 * Gives the people at a rate limit their times, behind those who wait already in any version. The limit is the node's,
 * so all versions share one line. Answers their number.
 */
export async function giveSlots(
  { sql: transaction, property }: Tenant,
  { now }: Moment,
  { journeyId, version }: Version,
  node: NodeOf<"rate_limit">,
): Promise<number> {
  const apart = sql`make_interval(secs => ${spacing(node.config)}::double precision)`;
  const [given] = await transaction<[{ count: number }]>`
    ${adHoc(sql`with line as materialized (
      select last_slot from journey_nodes
      where property_id = ${property.id}::uuid and journey_id = ${journeyId}::uuid and node = ${node.id}::text
      order by version for no key update
    ), state as materialized (
      select greatest(${now}, max(last_slot) + ${apart}) as first from line
    ), due as materialized (
      select d.id, d.wake_at, d.player_id, d.entry_key from journey_enrollments d
      where d.property_id = ${property.id}::uuid and d.journey_id = ${journeyId}::uuid and d.version = ${version}::int
        and d.node = ${node.id}::text and d.status = 'active' and d.phase = 'ready' and d.wake_at <= ${now}
      order by d.wake_at, d.player_id limit ${BATCH}::int for no key update of d skip locked
    ), slots as materialized (
      select d.id, s.first + (row_number() over (order by d.wake_at, d.player_id, d.entry_key) - 1) * ${apart} as slot from due d, state s
    ), given as (
      update journey_enrollments e set phase = 'waiting', wake_at = s.slot, updated_at = ${now}
      from slots s where e.property_id = ${property.id}::uuid and e.id = s.id
    ), kept as (
      update journey_nodes n set last_slot = s.slot from (select max(slot) as slot from slots) s
      where n.property_id = ${property.id}::uuid and n.journey_id = ${journeyId}::uuid and n.version = ${version}::int
        and n.node = ${node.id}::text and s.slot is not null
    )
    select count(*)::int as count from slots`)}`;
  return given.count;
}

/** A person may come later than planned by this share of the limit's time before the line behind is put off. */
const LATE_SHARE = 60;
/** A long line is put off seldomer: after at least this many times as long as the last time took. */
const TIMES_AS_LONG = 4;

/**
 * Puts off the line at a rate limit whose first person is late, such as behind a pause: the others follow evenly, and
 * nobody passes anybody. A person whom a gap follows holds nobody up. Putting off a line makes its first person late
 * again, by as long as it takes: without a bound a long line would be put off in every step.
 */
export async function delayLine(
  context: Context,
  moment: Moment,
  version: Version,
  node: NodeOf<"rate_limit">,
): Promise<void> {
  const { sql: transaction, property } = context;
  const { now, tick } = moment;
  const { journeyId } = version;
  const startedAt = performance.now();
  const apart = sql`make_interval(secs => ${spacing(node.config)}::double precision)`;
  const late = Math.max(secondsOf(node.config) / LATE_SHARE, tick);
  const earliest = sql`(select at from earliest)`;
  const [{ people }] = await transaction<[{ people: number }]>`
    ${adHoc(sql`with line as materialized (
      select version, look_ms from journey_nodes
      where property_id = ${property.id}::uuid and journey_id = ${journeyId}::uuid and node = ${node.id}::text
      order by version for no key update
    ), earliest as materialized (
      select ${now} - make_interval(secs =>
        greatest(${late}::double precision, max(look_ms) * ${TIMES_AS_LONG}::double precision / 1000)) as at from line
    ), first as materialized (
      select min(f.wake_at) as wake_at from line cross join lateral (
        select d.wake_at from journey_enrollments d
        where d.property_id = ${property.id}::uuid and d.journey_id = ${journeyId}::uuid and d.version = line.version
          and d.node = ${node.id}::text and d.status = 'active' and d.phase = 'waiting'
        order by d.wake_at limit 1) f
    ), waiting as materialized (
      select d.id, d.wake_at, d.player_id, d.entry_key from journey_enrollments d
      where d.property_id = ${property.id}::uuid and d.journey_id = ${journeyId}::uuid
        and d.version in (select version from line) and d.node = ${node.id}::text and d.status = 'active'
        and d.phase = 'waiting' and (select wake_at from first) < ${earliest}
      order by d.id for no key update of d
    ), placed as (
      select w.*, row_number() over (order by w.wake_at, w.player_id, w.entry_key) * ${apart} as place from waiting w
    ), slots as materialized (
      select id, wake_at, place + max(greatest(wake_at, ${earliest}) - place) over (order by place) as slot from placed
    ), delayed as (
      update journey_enrollments e set wake_at = s.slot, updated_at = ${now}
      from slots s where e.property_id = ${property.id}::uuid and e.id = s.id and s.slot > s.wake_at
    ), kept as (
      update journey_nodes n set last_slot = s.slot from (select max(slot) as slot from slots) s
      where n.property_id = ${property.id}::uuid and n.journey_id = ${journeyId}::uuid and n.node = ${node.id}::text
        and n.last_slot < s.slot
    )
    select count(*)::int as people from slots`)}`;
  if (people > 0) await noteLook(context, moment, { version, node }, startedAt);
}
