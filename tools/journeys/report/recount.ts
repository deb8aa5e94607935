import type { Tenant } from "#runtime/operation/context.ts";

export interface Difference {
  from: string;
  to: string;
  counted: number;
  recounted: number;
}

/** Compares the counted edges of all versions with the paths of all entries. */
export async function differences(
  { sql, property }: Tenant,
  journeyId: string,
): Promise<{ enrollments: number; rows: Difference[] }> {
  const [compared] = await sql<[{ enrollments: number; rows: Difference[] }]>`
    with entries as materialized (
      select id, version, status, node, path from journey_enrollments
      where property_id = ${property.id} and journey_id = ${journeyId}
    ), ends as materialized (
      select v.version, n.value ->> 'id' as node
      from journey_versions v cross join lateral jsonb_array_elements(v.definition -> 'nodes') n
      where v.property_id = ${property.id} and v.journey_id = ${journeyId} and n.value ->> 'type' in ('goal', 'exit')
    ), taken as (
      select from_node, to_node from (
        select s.node as from_node, lead(s.node) over (partition by e.id order by s.position) as to_node
        from entries e cross join lateral unnest(e.path) with ordinality s(node, position)
      ) steps where to_node is not null
      union all
      select e.node, '' from entries e
        left join ends on ends.version = e.version and ends.node = e.node
      where e.status <> 'active' and ends.node is null
    ), recounted as (
      select from_node, to_node, count(*)::int as people from taken group by 1, 2
    ), counted as (
      select from_node, to_node, sum(people)::int as people from journey_counts
      where property_id = ${property.id} and journey_id = ${journeyId} and status not in ('moved', 'ignored')
      group by 1, 2
    )
    select (select count(*)::int from entries) as enrollments,
      coalesce((
        select json_agg(json_build_object('from', from_node, 'to', to_node, 'counted', coalesce(c.people, 0),
          'recounted', coalesce(r.people, 0)) order by from_node, to_node)
        from counted c full join recounted r using (from_node, to_node)
        where coalesce(c.people, 0) <> coalesce(r.people, 0)), '[]') as rows`;
  return compared;
}
