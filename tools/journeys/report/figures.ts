import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Definition } from "#tools/journeys/definition/definition.ts";

const Reasons = z.record(z.string(), z.int());

export const NodeFigures = z.object({
  node: z.string(),
  type: z.string(),
  entered: z.int().describe("Arrivals; in = out + here"),
  left: z.int(),
  here: z.int().describe("Players who stand here now"),
  edges: z
    .array(z.object({ label: z.string(), to: z.string().nullable(), people: z.int() }))
    .describe("Ways out that players took; to null: the journey ended there"),
  exits: Reasons.describe("Players for whom the journey ended here, by reason"),
  campaign_id: z.uuid().nullable().describe("Of a message: campaign_stats has its figures"),
});
export type NodeFigures = z.output<typeof NodeFigures>;

export const Figures = z.object({
  entered: z.int().describe("Entries; entered = inside + completed + exited + failed"),
  people: z.int().describe("Different players among them"),
  inside: z.int(),
  completed: z.int(),
  exited: z.int(),
  failed: z.int(),
  goal_reached: z.int(),
  reasons: Reasons.describe("Of all who are not inside any more"),
  ignored_inside: z.int().describe("Events and calls for players who were inside already"),
  ignored_reentry: z.int().describe("Events and calls for players whom the re-entry rule keeps out"),
});
export type Figures = z.output<typeof Figures>;

/** The entries of a journey by their states, of one version or of all. */
export async function figuresOf(
  { sql, property }: Tenant,
  journeyId: string,
  version: number | null,
): Promise<Figures> {
  const [row] = await sql<[Figures]>`
    with entries as materialized (
      select status, exit_reason, count(*)::int as entries, count(goal_reached_at)::int as goals
      from journey_enrollments
      where property_id = ${property.id} and journey_id = ${journeyId}
        and (${version}::int is null or version = ${version}::int)
      group by status, exit_reason
    ), persons as (
      -- Distinct rows are hashed, where count(distinct) sorts: of a million entries in a third of the time.
      select distinct coalesce(player_id, anon_id) from journey_enrollments
      where property_id = ${property.id} and journey_id = ${journeyId}
        and (${version}::int is null or version = ${version}::int)
    ), ignored as materialized (
      select edge, people from journey_counts
      where property_id = ${property.id} and journey_id = ${journeyId} and status = 'ignored'
        and (${version}::int is null or version = ${version}::int)
    )
    select coalesce(sum(entries), 0)::int as entered,
      coalesce(sum(entries) filter (where status = 'active'), 0)::int as inside,
      coalesce(sum(entries) filter (where status = 'completed'), 0)::int as completed,
      coalesce(sum(entries) filter (where status = 'exited'), 0)::int as exited,
      coalesce(sum(entries) filter (where status = 'failed'), 0)::int as failed,
      coalesce(sum(goals), 0)::int as goal_reached,
      coalesce(jsonb_object_agg(exit_reason, total) filter (where exit_reason is not null), '{}') as reasons,
      coalesce((select sum(people) from ignored where edge = 'ignored_inside'), 0)::int as ignored_inside,
      coalesce((select sum(people) from ignored where edge = 'ignored_reentry'), 0)::int as ignored_reentry,
      (select count(*)::int from persons) as people
    from (select *, sum(entries) over (partition by exit_reason)::int as total from entries) e`;
  return row;
}

interface Counted {
  from_node: string;
  edge: string;
  to_node: string;
  status: string;
  people: number;
}

/** The figures of each node of a version, by the counts of its edges. */
export async function nodeFigures(
  { sql, property }: Tenant,
  { journeyId, version, definition }: { journeyId: string; version: number; definition: Definition },
): Promise<NodeFigures[]> {
  const counts = await sql<Counted[]>`
    select from_node, edge, to_node, status, people::int as people from journey_counts
    where property_id = ${property.id} and journey_id = ${journeyId} and version = ${version}
      and status <> 'ignored'
    order by from_node, edge, to_node, status`;
  const here = await sql<{ node: string; people: number }[]>`
    select node, count(*)::int as people from journey_enrollments
    where property_id = ${property.id} and journey_id = ${journeyId} and version = ${version} and status = 'active'
    group by node`;
  const campaigns = await sql<{ node: string; campaign_id: string }[]>`
    select node, campaign_id from journey_nodes
    where property_id = ${property.id} and journey_id = ${journeyId} and version = ${version}
      and campaign_id is not null`;
  const sum = (rows: readonly Counted[]) => rows.reduce((total, { people }) => total + people, 0);
  return definition.nodes.map(({ id, type }) => {
    const away = counts.filter(({ from_node }) => from_node === id);
    const standing = here.find(({ node }) => node === id)?.people ?? 0;
    const ends = type === "goal" || type === "exit";
    const arrivals = sum(counts.filter(({ to_node }) => to_node === id));
    const left = ends ? arrivals : sum(away);
    const passed = away.filter(({ to_node, status }) => to_node !== "" || status === "completed");
    const gone = away.filter(({ to_node, status }) => to_node === "" && status !== "completed");
    return {
      node: id,
      type,
      entered: type === "trigger" ? left + standing : arrivals,
      left,
      here: standing,
      edges: passed.map(({ edge, to_node, people }) => ({ label: edge, to: to_node || null, people })),
      exits: Object.fromEntries(gone.map(({ edge, people }) => [edge, people])),
      campaign_id: campaigns.find(({ node }) => node === id)?.campaign_id ?? null,
    };
  });
}
