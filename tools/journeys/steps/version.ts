import type { Tenant } from "#runtime/operation/context.ts";
import type { Definition, ExitConditions, JourneyGoal, Node } from "#tools/journeys/definition/definition.ts";
import { inOrder } from "#tools/journeys/definition/graph.ts";
import type { Referred } from "#tools/segments/rules/references.ts";

/** A published version, as the steps need it. */
export interface Version {
  journeyId: string;
  version: number;
  definition: Definition;
  referred: Referred;
  goal: JourneyGoal | null;
  exitConditions: ExitConditions | null;
  /** ISO time at which the journey ends for everybody: that of the published version. */
  endsAt: string | null;
  /** In the order of the edges. */
  order: Node[];
  /** By the node of a message, the campaign that carries it. */
  campaigns: Readonly<Record<string, string>>;
}

interface Row extends Omit<Version, "order"> {}

/** The versions in which somebody is, the oldest first. */
export async function liveVersions({ sql, property }: Tenant, journeyId: string): Promise<Version[]> {
  const rows = await sql<Row[]>`
    select v.journey_id as "journeyId", v.version, v.definition, v.referred, v.goal,
      v.exit_conditions as "exitConditions", to_json(c.ends_at) #>> '{}' as "endsAt",
      coalesce((
        select json_object_agg(n.node, n.campaign_id) from journey_nodes n
        where n.property_id = ${property.id} and n.journey_id = ${journeyId} and n.version = v.version
          and n.campaign_id is not null), '{}') as campaigns
    from journey_versions v
      join journeys j on j.property_id = ${property.id} and j.id = v.journey_id
      join journey_versions c on c.property_id = ${property.id} and c.journey_id = j.id and c.version = j.current_version
      cross join lateral (
        select from journey_enrollments e
        where e.property_id = ${property.id} and e.journey_id = v.journey_id and e.version = v.version
          and e.status = 'active'
        order by e.node limit 1) live
    where v.property_id = ${property.id} and v.journey_id = ${journeyId}
    order by v.version`;
  return rows.map((row) => ({ ...row, order: inOrder(row.definition) }));
}
