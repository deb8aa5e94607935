import { literals } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { type Context, UNBOUNDED } from "#runtime/operation/context.ts";
import { LIVE_GAMES } from "#tools/statuses/games.ts";
import { countsPeople } from "./approval.ts";

interface Use {
  id: string;
  list: string;
  kind: "campaign" | "game";
  name: string;
  /** Players of a campaign that were shown. */
  count: number | null;
}

/**
 * Asks about changes of lists with which campaigns that have not started, and games that are played, were approved.
 * Answers the ids of these campaigns and games.
 */
export async function askAboutLists(context: Context, segmentIds: string[]): Promise<ReadonlySet<string>> {
  if (segmentIds.length === 0 || !countsPeople(context.call)) return new Set();
  const uses = await usesOf(context, segmentIds);
  // Nobody counts the players that are others now.
  for (const use of uses) context.ask?.({ sentences: () => [useWords(use)], reach: UNBOUNDED });
  return new Set(uses.map(({ id }) => id));
}

function useWords({ list, kind, name, count }: Use): string {
  const shown = count === null ? "" : ` It was approved for ${counted(count, "player")}.`;
  const act = kind === "campaign" ? "gets the campaign" : "may play the game";
  return `This changes the list ${JSON.stringify(list)}, and with it who ${act} ${JSON.stringify(name)}.${shown}`;
}

/** The approved records that name the lists in their audience; see `segmentKey`. */
function usesOf({ sql, property }: Context, segmentIds: string[]): Promise<Use[]> {
  return sql<Use[]>`
    with lists as (
      select name, 'segment ' || id as key from segments
      where property_id = ${property.id} and id = any(${segmentIds}::uuid[])
    ), approved as (
      select 'campaign' as kind, id, name, (approved ->> 'count')::int as count, approved_state -> 'audience' as audience
      from campaigns
      where property_id = ${property.id} and deleted_at is null and started_at is null and journey_id is null
        and status in ('scheduled', 'queued', 'paused')
      union all
      select 'game', id, name, null, approved_state -> 'audience' from games
      where property_id = ${property.id} and deleted_at is null and status in (${literals(LIVE_GAMES)})
    )
    select a.id, l.name as list, a.kind, a.name, a.count
    from approved a join lists l on jsonb_exists(a.audience, l.key)
    order by a.kind, a.id, l.name`;
}
