import { cast, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { announceEnrollments } from "#tools/enrollments/end.ts";
import type { Node } from "#tools/journeys/definition/definition.ts";
import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Moment } from "#tools/journeys/nodes/node.ts";
import { act } from "./act.ts";
import { endsEarly } from "./leaving.ts";
import { passLine, secondsToPass } from "./line.ts";
import { isLookDue, LOOK_EVERY, look, noteLook } from "./look.ts";
import { BATCH, type Moved, move } from "./move.ts";
import { plan, recall, settle } from "./send.ts";
import { liveVersions, type Version } from "./version.ts";

/** More moves than this are left to the next transaction. */
const MOST_MOVES = 20_000;

/** An error of one node's step. */
export class StepFailure extends Error {
  readonly node: string;

  constructor(node: string, cause: unknown) {
    super(`step of node ${node}`, { cause });
    this.name = "StepFailure";
    this.node = node;
  }
}

interface Place {
  version: number;
  node: string;
  phase: "ready" | "waiting" | "in_line" | "sending";
}

/**
 * Moves everybody who is due at this time. The nodes follow the order of the edges, so one step carries a person to the
 * next wait. Answers the number of moves: after 0 nobody is due any more. `isTimed`: see `Moment`.
 */
export async function step(
  context: Context,
  journeyId: string,
  at: string,
  { isTimed = false } = {},
): Promise<number> {
  let moves = 0;
  for (const version of await liveVersions(context, journeyId)) {
    moves += await stepVersion(context, version, at, { most: MOST_MOVES - moves, isTimed, tick: 0 });
    if (moves >= MOST_MOVES) break;
  }
  return moves;
}

/** The same for the people of one version, until `most` moves are made. */
export async function stepVersion(
  context: Context,
  version: Version,
  at: string,
  { most, isTimed, tick }: { most: number; isTimed: boolean; tick: number },
): Promise<number> {
  const { journeyId, referred } = version;
  const moment: Moment = {
    property: context.property,
    journeyId,
    at,
    now: cast(at, "timestamptz"),
    referred,
    isTimed,
    tick,
  };
  const places = await occupied(context, version, at);
  const arrived = new Set<string>();
  let moves = 0;
  for (const node of version.order) {
    const arrival = arrivalPhase(node);
    const has = (phase: Place["phase"]) =>
      places.some((place) => place.node === node.id && place.phase === phase) ||
      (phase === arrival && arrived.has(node.id));
    const campaignId = version.campaigns[node.id];
    try {
      for (const moved of await stepNode(context, moment, { version, node, has, campaignId })) {
        moves += moved.seen;
        for (const target of moved.targets) arrived.add(target);
        await follow(context, moment, node, moved);
      }
    } catch (error) {
      throw new StepFailure(node.id, error);
    }
    if (moves >= most) break;
  }
  return moves;
}

/** The effects of a move: the node's own, and the events. */
async function follow(context: Context, moment: Moment, node: Node, moved: Moved): Promise<void> {
  if (node.type === "trigger") await announceEnrollments(context, "player.journey_entered", moved.passed);
  await act(context, moment, node, moved.passed);
  await announceEnrollments(context, "player.journey_goal_reached", moved.reached);
  await announceEnrollments(context, "player.journey_exited", moved.ended);
}

function arrivalPhase({ type }: Node): Place["phase"] {
  if (type === "rate_limit") return "in_line";
  return kindOf(type).arrival ? "waiting" : "ready";
}

interface NodeStep {
  version: Version;
  node: Node;
  /** Whether people may be due at the node in this phase. */
  has(phase: Place["phase"]): boolean;
  campaignId: string | undefined;
}

async function stepNode(
  context: Context,
  moment: Moment,
  { version, node, has, campaignId }: NodeStep,
): Promise<Moved[]> {
  const results: Moved[] = [];
  const startedAt = performance.now();
  if (node.type === "message") {
    if (has("ready") && campaignId) results.push(await plan(context, moment, { version, node }, campaignId));
    // A message of the day before may wait for open hours, and its player has come meanwhile.
    if (has("sending") && endsEarly(version) && (await isLookDue(context, moment, version, node.id))) {
      const recalled = await recall(context, moment, { version, node });
      results.push(recalled);
      if (recalled.seen < BATCH) await noteLook(context, moment, { version, node }, startedAt);
    }
    const planned = results.some(({ staying }) => staying.length > 0);
    if (has("sending") || planned) results.push(await settle(context, moment, { version, node }));
    return results;
  }
  if (node.type === "rate_limit")
    return has("in_line") ? [await passLine(context, moment, { version, node })] : [];
  if (node.type === "wait_until") {
    // The event that they waited for has come.
    if (has("ready"))
      results.push(await move(context, moment, { version, node, phase: "ready", next: sql`'yes'` }));
    if (await isLookDue(context, moment, version, node.id))
      results.push(await look(context, moment, { version, node }));
  }
  const { next } = kindOf(node.type);
  const phase = arrivalPhase(node);
  if (next && has(phase)) {
    results.push(await move(context, moment, { version, node, phase, next: next(node, moment) }));
  }
  return results;
}

/** The nodes and phases in which somebody is due, stands in line, or has a message under way. */
function occupied({ sql, property }: Context, version: Version, at: string): Promise<Place[]> {
  const phases = ["ready", "waiting", "in_line", "sending"] as const;
  const places = version.order.flatMap(({ id }) => phases.map((phase) => ({ node: id, phase })));
  return sql<Place[]>`
    select n.node, n.phase from json_to_recordset(${places}::json) n(node text, phase text)
      cross join lateral (
        select d.wake_at from journey_enrollments d
        where d.property_id = ${property.id} and d.journey_id = ${version.journeyId} and d.version = ${version.version}
          and d.node = n.node and d.status = 'active' and d.phase = n.phase
        order by d.wake_at limit 1) first
    where n.phase in ('in_line', 'sending') or first.wake_at <= ${at}::timestamptz`;
}

/**
 * Seconds from a step at `at`, behind which nobody could be moved, until the next person's time comes, or the next look;
 * null where nobody is inside. Not above 0: somebody was due at the step, and another transaction has locked the row.
 */
export async function secondsToNext(context: Context, journeyId: string, at: string): Promise<number | null> {
  const { sql, property } = context;
  const now = cast(at, "timestamptz");
  let wait = await secondsToPass(context, { journeyId, now });
  for (const { version, order } of await liveVersions(context, journeyId)) {
    const places = order.flatMap(({ id, type }) => [
      { node: id, phase: "ready", looks: false },
      { node: id, phase: "waiting", looks: type === "wait_until" },
      { node: id, phase: "sending", looks: true },
    ]);
    const [next] = await sql<{ wait: number | null }[]>`
      select extract(epoch from min(case when n.looks then least(first.wake_at, ${now} + make_interval(secs => ${LOOK_EVERY}))
        else first.wake_at end) - ${now})::double precision as wait
      from json_to_recordset(${places}::json) n(node text, phase text, looks boolean)
        cross join lateral (
          select d.wake_at from journey_enrollments d
          where d.property_id = ${property.id} and d.journey_id = ${journeyId} and d.version = ${version}
            and d.node = n.node and d.status = 'active' and d.phase = n.phase
          order by d.wake_at limit 1) first`;
    if (next && next.wait !== null) wait = Math.min(wait ?? next.wait, next.wait);
  }
  return wait;
}
