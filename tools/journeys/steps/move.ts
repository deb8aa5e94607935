import { adHoc, cast, cte, type Fragment, join, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Node } from "#tools/journeys/definition/definition.ts";
import { labelsOf, targetOf, targetsOf } from "#tools/journeys/definition/graph.ts";
import { kindOf } from "#tools/journeys/nodes/all.ts";
import type { Arrival, Moment } from "#tools/journeys/nodes/node.ts";
import { leavingCases } from "./leaving.ts";
import type { Version } from "./version.ts";

/** People that one statement moves. */
export const BATCH = 5_000;
/** A person who has come to one node this number of times leaves: the journey would never end. */
const MOST_VISITS = 100;

/** The people at a node whom a statement looks at, and the edges that they take. */
export interface Movement {
  version: Version;
  node: Node;
  phase: "ready" | "waiting" | "in_line" | "sending";
  /** More to join to the enrollment `d`, as SQL. */
  join?: Fragment;
  /** Which of the people are due, as SQL over `d`. Default: their time has come. */
  due?: Fragment;
  /** The label that a person takes, as SQL over `d` and the player `p`; null for a person who stays. */
  next: Fragment;
  /** Columns of the joined tables for `next`. */
  columns?: Fragment;
  /** Locks the sends `s` of `join` too, and cancels those of the people who leave. */
  recalls?: boolean;
}

export interface Moved {
  /** People who were looked at. */
  seen: number;
  /** The nodes at which some have arrived. */
  targets: string[];
  /** The enrollments that stay, where `next` was null. */
  staying: string[];
  /** The enrollments that took an edge of the node. */
  passed: string[];
  /** The enrollments that ended. */
  ended: string[];
  /** The enrollments that reached the goal. */
  reached: string[];
}

export const NOBODY: Moved = { seen: 0, targets: [], staying: [], passed: [], ended: [], reached: [] };

/**
 * Takes the due people of a node, judges where each goes, moves them, and counts the edges: one statement. People whom
 * another transaction has locked wait for the next step.
 */
export async function move(tenant: Tenant, moment: Moment, movement: Movement): Promise<Moved> {
  const { version, node, phase } = movement;
  const again = phase === "waiting" ? kindOf(node.type).arrival?.(node, moment) : undefined;
  const parts = join([
    cte("due", dueSql(tenant, moment, movement), "materialized"),
    cte("judged", judgedSql(tenant, moment, movement), "materialized"),
    cte("routed", routedSql(moment, version, node)),
    cte("placed", placedSql(tenant, moment, version, node), "materialized"),
    cte("moved", movedSql(tenant, moment)),
    ...(again ? [cte("kept", keptSql(tenant, moment, again))] : []),
    ...(movement.recalls ? [cte("recalled", recalledSql(tenant, moment))] : []),
    cte("counted", countedSql(tenant, version, node)),
  ]);
  const [moved] = await tenant.sql<[Moved]>`
    ${adHoc(sql`with ${parts}
    select (select count(*)::int from due) as seen,
      array(select distinct node_then from placed where status_then = 'active') as targets,
      array(select id from judged where verdict is null) as staying,
      array(select id from placed where leaving is null) as passed,
      array(select id from placed where status_then <> 'active') as ended,
      array(select id from placed where reaches) as reached`)}`;
  return moved;
}

function dueSql({ property }: Tenant, { now }: Moment, movement: Movement): Fragment {
  const { version, node, phase, due = sql`d.wake_at <= ${now}` } = movement;
  return sql`
    select d.*${movement.columns ?? sql``} from journey_enrollments d ${movement.join ?? sql``}
    where d.property_id = ${property.id}::uuid and d.journey_id = ${version.journeyId}::uuid
      and d.version = ${version.version}::int and d.node = ${node.id}::text and d.status = 'active'
      and d.phase = ${phase}::text and ${due}
    order by d.wake_at, d.player_id limit ${BATCH}::int
    for no key update of d${movement.recalls ? sql`, s` : sql``} skip locked`;
}

/** The due people with the label of the edge that each takes, `!reason` for those who leave, null for those who stay. */
function judgedSql({ property }: Tenant, moment: Moment, { version, next }: Movement): Fragment {
  const { cases, reached } = leavingCases(moment, version);
  return sql`
    select d.*, v.verdict, v.reached from due d
      left join players p on p.property_id = ${property.id}::uuid and p.id = d.player_id
      cross join lateral (
        select case ${cases} else ${next} end as verdict, ${reached} as reached offset 0) v`;
}

/** The edge of each person who moves: its target, or the end that it means. */
function routedSql({ now }: Moment, version: Version, from: Node): Fragment {
  return sql`
    select r.*, case when r.leaving = 'goal_reached' then 'completed' when r.leaving is not null then 'exited'
        when r.ends is not null then r.ends when r.visits >= ${MOST_VISITS}::int then 'failed' else 'active' end as status_then,
      case when r.leaving is not null then r.leaving when r.ends is not null then r.end_reason
        when r.visits >= ${MOST_VISITS}::int then 'loop_limit' end as reason_then,
      r.target is not null and r.leaving is null and (r.ends is not null or r.visits < ${MOST_VISITS}::int) as arrives,
      case when r.reached or r.leaving is null and r.end_reason = 'goal_reached' then coalesce(r.goal_reached_at, ${now})
        else r.goal_reached_at end as goal_then
    from (
      select j.*, t.target, t.ends, t.end_reason,
        case when starts_with(j.verdict, '!') then substr(j.verdict, 2) end as leaving,
        cardinality(array_positions(j.path, t.target)) as visits
      from judged j left join ${edgeRows(version, from)} on t.label = j.verdict
      where j.verdict is not null
    ) r`;
}

/** Each label of a node as a row of `t`: the node that it leads to, or the end that it means. */
function edgeRows({ definition }: Version, from: Node): Fragment {
  const rows = labelsOf(from).map((label) => {
    const target = targetOf(definition, from.id, label);
    const node = definition.nodes.find(({ id }) => id === target);
    const reason = endReason(node);
    return sql`(${label}::text, ${target}::text, ${reason && "completed"}::text, ${reason}::text)`;
  });
  return sql`(values ${join(rows)}) t(label, target, ends, end_reason)`;
}

/** Why the journey ends where an edge leads to this node; null where it goes on. */
function endReason(node: Node | undefined): string | null {
  if (!node) return "completed";
  if (node.type === "goal") return "goal_reached";
  return node.type === "exit" ? node.config.reason : null;
}

/** The same people with the state in which they begin at the next node. */
function placedSql({ property }: Tenant, moment: Moment, { definition }: Version, from: Node): Fragment {
  const arrivals = targetsOf(definition, from.id).flatMap((target) => {
    const node = definition.nodes.find(({ id }) => id === target);
    const arrival = node && kindOf(node.type).arrival?.(node, moment);
    return arrival ? [{ target, ...arrival }] : [];
  });
  const chosen = (pick: (arrival: Arrival) => Fragment, otherwise: Fragment) => {
    if (arrivals.length === 0) return otherwise;
    const cases = arrivals.map(({ target, ...arrival }) => sql`when ${target} then ${pick(arrival)}`);
    return sql`case r.target ${join(cases, " ")} else ${otherwise} end`;
  };
  return sql`
    select r.id, r.player_id, r.verdict, r.status_then, r.reason_then, r.arrives, r.goal_then, r.leaving,
      r.goal_reached_at is null and r.goal_then is not null as reaches,
      case when r.arrives then r.target else r.node end as node_then,
      case when r.arrives then r.visits + 1 else r.visit end as visit_then,
      case when r.arrives then r.path || r.target else r.path end as path_then,
      case when r.arrives then r.path_at || ${moment.now} else r.path_at end as path_at_then,
      case when r.status_then = 'active' then ${chosen(({ phase }) => cast(phase, "text"), sql`'ready'`)} else 'ready' end as phase_then,
      case when r.status_then = 'active' then ${chosen(({ wakeAt }) => wakeAt, moment.now)} end as wake_then
    from routed r left join players p on p.property_id = ${property.id}::uuid and p.id = r.player_id`;
}

function movedSql({ property }: Tenant, { now }: Moment): Fragment {
  return sql`
    update journey_enrollments e
    set status = m.status_then, node = m.node_then, visit = m.visit_then, phase = m.phase_then, send_id = null,
      wake_at = m.wake_then, arrived_at = ${now}, exit_reason = m.reason_then, goal_reached_at = m.goal_then,
      ended_at = case when m.status_then <> 'active' then ${now} end, path = m.path_then, path_at = m.path_at_then,
      updated_at = ${now}
    from placed m where e.property_id = ${property.id}::uuid and e.id = m.id`;
}

/** Those who stay wait anew. */
function keptSql({ property }: Tenant, { now }: Moment, { wakeAt }: Arrival): Fragment {
  return sql`
    update journey_enrollments e set wake_at = k.wake_at, updated_at = ${now}
    from (
      select j.id, ${wakeAt} as wake_at
      from judged j left join players p on p.property_id = ${property.id}::uuid and p.id = j.player_id
      where j.verdict is null
    ) k where e.property_id = ${property.id}::uuid and e.id = k.id`;
}

/** A message that waits to be repeated may have arrived. */
function recalledSql({ property }: Tenant, { now }: Moment): Fragment {
  return sql`
    update campaign_sends s
    set status = case when s.repeats then 'unknown' else 'cancelled' end, skip_reasons = array[m.leaving], updated_at = ${now}
    from placed m join due d on d.id = m.id
    where s.property_id = ${property.id}::uuid and s.id = d.send_id and m.leaving is not null`;
}

function countedSql({ property }: Tenant, { journeyId, version }: Version, from: Node): Fragment {
  return sql`
    insert into journey_counts (property_id, journey_id, version, from_node, edge, to_node, status, people)
    select ${property.id}::uuid, ${journeyId}::uuid, ${version}::int, ${from.id}::text, edge, to_node, status, people
    from (
      select coalesce(leaving, case when arrives or reason_then = 'completed' then verdict else reason_then end) as edge,
        case when arrives then node_then else '' end as to_node, status_then as status, count(*) as people
      from placed group by 1, 2, 3
    ) c order by edge, to_node, status
    on conflict (property_id, journey_id, version, from_node, edge, to_node, status)
      do update set people = journey_counts.people + excluded.people`;
}
