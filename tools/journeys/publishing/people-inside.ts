import { adHoc, type Fragment, join, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { endEnrollments } from "#tools/enrollments/end.ts";
import type { Definition } from "#tools/journeys/definition/definition.ts";
import type { Journey } from "#tools/journeys/journey/journey.ts";
import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Moment } from "#tools/journeys/nodes/node.ts";
import type { Referred } from "#tools/segments/rules/references.ts";

/** The ways to treat the people inside when a new version is published. */
export const ON_PUBLISH = ["finish_old", "move_matching", "exit_old"] as const;
export type OnPublish = (typeof ON_PUBLISH)[number];

/** How many of the people inside finish the old version, move to the new one, and leave. */
export interface Inside {
  finish: number;
  move: number;
  exit: number;
}

/** The same node id with the same type, in the old version and the new one. */
async function matchingNodes({ sql: transaction, property }: Context, { id, draft_definition }: Journey) {
  const rows = await transaction<{ version: number; definition: Definition }[]>`
    select version, definition from journey_versions
    where property_id = ${property.id} and journey_id = ${id} and exists (
      select from journey_enrollments e
      where e.property_id = ${property.id} and e.journey_id = ${id} and e.version = journey_versions.version
        and e.status = 'active')`;
  return rows.flatMap(({ version, definition }) =>
    definition.nodes
      .filter((old) => draft_definition.nodes.some(({ id, type }) => id === old.id && type === old.type))
      .map(({ id: node }) => ({ version, node })),
  );
}

/** The numbers before anything is published. */
export async function countInside(context: Context, journey: Journey, onPublish: OnPublish): Promise<Inside> {
  const { sql: transaction, property } = context;
  const matching = await matchingNodes(context, journey);
  const [counted] = await transaction<[{ all: number; matching: number }]>`
    select count(*)::int as all, count(m.node)::int as matching
    from journey_enrollments d
      left join json_to_recordset(${matching}::json) m(version int, node text)
        on m.version = d.version and m.node = d.node
    where d.property_id = ${property.id} and d.journey_id = ${journey.id} and d.status = 'active'`;
  const { all, matching: moving } = counted;
  if (onPublish === "finish_old") return { finish: all, move: 0, exit: 0 };
  if (onPublish === "exit_old") return { finish: 0, move: 0, exit: all };
  return { finish: 0, move: moving, exit: all - moving };
}

/** One of the people inside, and the fate that publishing has for them. */
export interface InsideSample {
  player_id: string | null;
  node: string;
  fate: keyof Inside;
}

const SAMPLES = 3;

/** Some of the people inside for each fate, the first that the database finds: sorting a million takes too long. */
export async function sampleInside(
  context: Context,
  journey: Journey,
  onPublish: OnPublish,
): Promise<InsideSample[]> {
  const { sql: transaction, property } = context;
  const matching = onPublish === "move_matching" ? await matchingNodes(context, journey) : [];
  const some = (fate: keyof Inside, which: Fragment) => transaction<InsideSample[]>`
    select d.player_id, d.node, ${fate}::text as fate
    from journey_enrollments d
      left join json_to_recordset(${matching}::json) m(version int, node text)
        on m.version = d.version and m.node = d.node
    where d.property_id = ${property.id} and d.journey_id = ${journey.id} and d.status = 'active' and ${which}
    limit ${SAMPLES}::int`;
  if (onPublish === "finish_old") return some("finish", sql`true`);
  if (onPublish === "exit_old") return some("exit", sql`true`);
  return [...(await some("move", sql`m.node is not null`)), ...(await some("exit", sql`m.node is null`))];
}

/** Moves or ends the people of older versions, as the publisher has chosen. */
export async function placeInside(
  context: Context,
  journey: Journey,
  { version, referred, onPublish }: { version: number; referred: Referred; onPublish: OnPublish },
): Promise<void> {
  if (onPublish === "finish_old") return;
  await endLines(context, journey.id, version);
  const older = sql`d.journey_id = ${journey.id}::uuid and d.version < ${version}::int`;
  if (onPublish === "exit_old") return void (await endEnrollments(context, older, "workflow_changed"));
  const matching = await matchingNodes(context, journey);
  await moveMatching(context, journey, { version, referred, matching });
  await endEnrollments(context, older, "workflow_changed");
}

/**
 * Ends the lines of the older versions at their rate limits, which are empty by now. The next person follows the last
 * one that they let through.
 */
async function endLines(
  { sql: transaction, property }: Context,
  journeyId: string,
  version: number,
): Promise<void> {
  await transaction`
    update journey_nodes set last_slot = now()
    where property_id = ${property.id} and journey_id = ${journeyId} and version < ${version} and last_slot > now()`;
}

/** A wait begins at the arrival, and gets the new length: a shortened one may be over at once. */
async function moveMatching(
  context: Context,
  { id: journeyId, draft_definition }: Journey,
  {
    version,
    referred,
    matching,
  }: { version: number; referred: Referred; matching: { version: number; node: string }[] },
): Promise<void> {
  const { property } = context;
  const moment: Moment = {
    property,
    journeyId,
    at: new Date(context.now()).toISOString(),
    now: sql`d.arrived_at`,
    referred,
    isTimed: false,
    tick: 0,
  };
  const waits = draft_definition.nodes.flatMap((node): Fragment[] => {
    const arrival = kindOf(node.type).arrival?.(node, moment);
    return arrival ? [sql`when ${node.id} then ${arrival.wakeAt}`] : [];
  });
  const limited = draft_definition.nodes.flatMap(({ id, type }) => (type === "rate_limit" ? [id] : []));
  const isLimited = sql`(d.phase = 'waiting' and d.node = any(${limited}::text[]))`;
  // Those who wait at a rate limit line up again, in the order of their coming.
  const anew = waits.length === 0 ? sql`d.wake_at` : sql`case d.node ${join(waits, " ")} else d.wake_at end`;
  const wakeAt = sql`case when d.phase <> 'waiting' then d.wake_at when ${isLimited} then d.arrived_at else ${anew} end`;
  await context.sql`
    ${adHoc(sql`with clock as materialized (
      select now() as moment
    ), moving as materialized (
      select d.id, d.version, d.node, ${wakeAt} as wake_at,
        case when ${isLimited} then 'ready' else d.phase end as phase
      from journey_enrollments d
        join json_to_recordset(${matching}::json) m(version int, node text) on m.version = d.version and m.node = d.node
        left join players p on p.property_id = ${property.id}::uuid and p.id = d.player_id
      where d.property_id = ${property.id}::uuid and d.journey_id = ${journeyId}::uuid and d.status = 'active'
      order by d.id for no key update of d
    ), moved as (
      update journey_enrollments e set version = ${version}::int, wake_at = m.wake_at, phase = m.phase, updated_at = clock.moment
      from moving m, clock where e.property_id = ${property.id}::uuid and e.id = m.id
    )
    insert into journey_counts (property_id, journey_id, version, from_node, edge, to_node, status, people)
    select ${property.id}::uuid, ${journeyId}::uuid, c.version, c.from_node, 'new_version', c.to_node, 'moved', c.people
    from (
      select version, node as from_node, '' as to_node, count(*) as people from moving group by 1, 2
      union all
      select ${version}::int, '', node, count(*) from moving group by 3
    ) c order by version, from_node, to_node
    on conflict (property_id, journey_id, version, from_node, edge, to_node, status)
      do update set people = journey_counts.people + excluded.people`)}`;
}
