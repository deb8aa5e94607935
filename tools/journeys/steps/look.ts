import { sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Node, NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Moment } from "#tools/journeys/nodes/node.ts";
import { holds } from "#tools/journeys/nodes/wait-until.ts";
import { BATCH, type Moved, move } from "./move.ts";
import type { Version } from "./version.ts";

/** Seconds between two looks at the people who wait for something. */
export const LOOK_EVERY = 60;
/** A look may take this share of the time: one that takes a second comes every 200 seconds. */
const SHARE = 200;

/** Whether the last look at a node is long enough ago. */
export async function isLookDue(
  { sql: transaction, property }: Context,
  { now }: Moment,
  { journeyId, version }: Version,
  nodeId: string,
): Promise<boolean> {
  const due = await transaction`
    select from journey_nodes
    where property_id = ${property.id} and journey_id = ${journeyId} and version = ${version} and node = ${nodeId}
      and coalesce(looked_at + make_interval(secs => greatest(${LOOK_EVERY}::double precision, look_ms * ${SHARE}::double precision / 1000)),
        ${now}) <= ${now}`;
  return due.count > 0;
}

/** Looks at all who wait at a node and moves those on whose wait is over. */
export async function look(
  context: Context,
  moment: Moment,
  { version, node }: { version: Version; node: NodeOf<"wait_until"> },
): Promise<Moved> {
  const startedAt = performance.now();
  const moved = await move(context, moment, {
    version,
    node,
    phase: "waiting",
    join: sql`join players p on p.property_id = ${context.property.id}::uuid and p.id = d.player_id`,
    // `is true` keeps an event's query from becoming a join: of a join with locked rows Citus misreads the result.
    due: sql`d.wake_at > ${moment.now} and (${holds(node.config, moment)}) is true`,
    next: sql`'yes'`,
  });
  if (moved.seen < BATCH) await noteLook(context, moment, { version, node }, startedAt);
  return moved;
}

/** Notes that everybody at a node was looked at, and how long it took from `startedAt` on. */
export async function noteLook(
  { sql: transaction, property }: Context,
  { at, isTimed }: Moment,
  { version: { journeyId, version }, node }: { version: Version; node: Pick<Node, "id"> },
  startedAt: number,
): Promise<void> {
  const took = isTimed ? Math.round(performance.now() - startedAt) : 0;
  await transaction`
    update journey_nodes set looked_at = ${at}::timestamptz, look_ms = ${took}
    where property_id = ${property.id} and journey_id = ${journeyId} and version = ${version} and node = ${node.id}`;
}
