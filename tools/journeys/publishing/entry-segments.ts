import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import { type Context, UNBOUNDED } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";
import { countsPeople } from "#tools/approvals/approval.ts";
import { askBeforeMoving, isAsked } from "#tools/enrollments/ask.ts";
import { audienceOf, standsOn } from "#tools/segments/rules/references.ts";

/** Asks about changed segments by whose rules players enter an active journey. `ids`: of records that a call has changed. */
export async function askAboutEntries(context: Context, ids: string[]): Promise<void> {
  if (ids.length === 0 || !countsPeople(context.call)) return;
  const { sql, property } = context;
  const names = new Set<string>();
  for (const { segment, journeys } of await entriesOf(context)) {
    if (!(await standsOn(sql, property.id, segment, ids))) continue;
    for (const name of journeys) names.add(name);
  }
  for (const name of [...names].toSorted()) {
    context.ask?.({
      sentences: () => [`This changes who enters the journey ${quoted(name)} from now on.`],
      reach: UNBOUNDED,
    });
  }
}

/** The same as `askAboutMoves` behind a call; also about players whose entries in lists it removes. `ids`: of its records. */
export async function watchMoves(
  context: Context,
  ids: string[],
): Promise<(changed: string[]) => Promise<void>> {
  if (!isAsked(context.call)) return async () => {};
  const { sql, property } = context;
  const listed = await sql<{ player_id: string }[]>`
    select player_id from segment_members
    where property_id = ${property.id} and id = any(${ids.filter(isUuid)}::uuid[])`;
  const players = listed.map(({ player_id }) => player_id);
  return (changed) => askAboutMoves(context, [...players, ...changed]);
}

/**
 * Asks about players who come into a segment, or leave it, by whose rules players enter an active journey. `ids`: of
 * records that an agent has written, and of their players.
 */
export async function askAboutMoves(context: Context, ids: string[]): Promise<void> {
  if (!isAsked(context.call)) return;
  for (const { segment, journeys } of await entriesOf(context)) {
    const players = await movedPlayers(context, segment, ids.filter(isUuid));
    askBeforeMoving(context, {
      cause: "This changes which rules of segments they fit",
      journeys,
      players,
      moved: players.length,
    });
  }
}

interface Entry {
  segment: string;
  journeys: string[];
}

/** The segments by which players enter active journeys. */
function entriesOf({ sql, property }: Context): Promise<Entry[]> {
  return sql<Entry[]>`
    select t.name as segment, array_agg(distinct j.name) as journeys from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where t.property_id = ${property.id} and t.kind in ('segment_enter', 'segment_exit')
      and j.status = 'active' and j.deleted_at is null
    group by t.name order by t.name`;
}

/** The players among `ids` who fit the segment's rules without being members, or are members without fitting. */
async function movedPlayers(
  { sql, property }: Context,
  segment: string,
  ids: readonly string[],
): Promise<string[]> {
  try {
    const audience = await audienceOf(sql, property.id, segment);
    const moved = await sql<{ id: string }[]>`
      select p.id from players p
      where p.property_id = ${property.id} and p.id = any(${ids}::uuid[])
        and (${audience}) is true <> exists (
          select from segment_members m
          where m.property_id = ${property.id} and m.segment_id = ${segment}::uuid and m.player_id = p.id)
      order by p.id`;
    return moved.map(({ id }) => id);
  } catch (error) {
    // Unreadable rules let nobody in.
    if (error instanceof Fault && error.status < 500) return [];
    throw error;
  }
}
