import { type Context, UNBOUNDED } from "#runtime/operation/context.ts";

/** Asks about changed segments by whose rules players enter an active journey. `ids`: of records that a call has changed. */
export async function askAboutEntries({ sql, property, ask }: Context, ids: string[]): Promise<void> {
  if (!ask || ids.length === 0) return;
  const journeys = await sql<{ name: string }[]>`
    select distinct j.name from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where t.property_id = ${property.id} and t.kind in ('segment_enter', 'segment_exit')
      and t.name = any(${ids}::text[]) and j.status = 'active' and j.deleted_at is null
    order by j.name`;
  for (const { name } of journeys) {
    ask({
      sentences: () => [
        `This changes who enters the journey ${JSON.stringify(name.slice(0, 100))} from now on.`,
      ],
      reach: UNBOUNDED,
    });
  }
}
