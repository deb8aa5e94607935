import { type Context, countsPeople, UNBOUNDED } from "#runtime/operation/context.ts";

/** Asks about a change of a list, if a campaign has been approved with it and is still to be sent. */
export async function askAboutList({ sql, property, call, ask }: Context, segmentId: string): Promise<void> {
  if (!countsPeople(call) || !ask) return;
  const campaigns = await sql<{ name: string; segment: string; count: number | null }[]>`
    select c.name, s.name as segment, (c.approved ->> 'count')::int as count
    from campaigns c join segments s on s.property_id = ${property.id} and s.id = ${segmentId}
    where c.property_id = ${property.id} and c.deleted_at is null and c.started_at is null
      and c.status in ('scheduled', 'queued', 'paused')
      and jsonb_exists(c.approved_state -> 'audience', ${`segment ${segmentId}`})
    order by c.id`;
  for (const { name, segment, count } of campaigns) {
    const approved = count === null ? "" : ` It was approved for ${count} players.`;
    const sentence = `This changes the list ${JSON.stringify(segment)}, and with it who gets the campaign ${JSON.stringify(name)}.${approved}`;
    // Which of its players are others is not counted.
    ask({ sentences: () => [sentence], reach: UNBOUNDED });
  }
}
