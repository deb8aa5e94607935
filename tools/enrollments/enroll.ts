import { createHash } from "node:crypto";
import { cast, cte, type Fragment, join, literals, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { BARRED_STATUSES } from "#tools/statuses/players.ts";
import { askBeforeMoving } from "./ask.ts";
import { stepSoon } from "./jobs.ts";
import { endWaits } from "./waits.ts";

/** The fates of the people who were to enter a journey. */
export interface Entries {
  entered: number;
  /** They are inside already. */
  ignored_inside: number;
  /** They were inside, and the journey's re-entry rule keeps them out. */
  ignored_reentry: number;
  /** Deleted, erased, banned, deceased or self-excluded. */
  barred: number;
}

const NOBODY: Entries = { entered: 0, ignored_inside: 0, ignored_reentry: 0, barred: 0 };

/**
 * Enrolls people in their journeys. `entrants`: rows of `journey_id, version, node, reentry, player_id, entry_key,
 * context`, a player and key once a journey. They stand at their trigger until the next step. Twice the same call enrolls
 * nobody twice. `at`: ISO time of the entry; default: now. `offers`: the records that a row `x` stands for, all counted.
 */
export async function enroll(
  context: Context,
  entrants: Fragment,
  at?: string,
  offers: Fragment = sql`1`,
): Promise<Entries> {
  const now = at === undefined ? sql`now()` : cast(at, "timestamptz");
  const { property } = context;
  const own = sql`${property.id}::uuid`;
  const judged = sql`
    select x.*, ${offers} as offered, coalesce(e.entries, 0) as entries, p.id is null as is_barred, coalesce(e.is_inside, false) as is_inside,
      coalesce(x.reentry ->> 'mode' = 'never' and e.entries > 0
        or e.entries >= (x.reentry ->> 'max_entries')::int
        or x.reentry ->> 'mode' = 'after_exit'
          and e.ended_at > ${now} - make_interval(hours => (x.reentry ->> 'cooldown_hours')::int), false) as is_kept_out
    from entrants x
      left join players p on p.property_id = ${own} and p.id = x.player_id and p.deleted_at is null
        and p.status not in (${literals(BARRED_STATUSES)})
      left join past e on e.journey_id = x.journey_id and e.player_id = x.player_id and e.entry_key = x.entry_key`;
  // Read whole before the first row is written: a look for each entrant would pass over all rows written so far.
  const past = sql`
    select d.journey_id, d.player_id, d.entry_key, max(d.entry) as entries, max(d.ended_at) as ended_at,
      bool_or(d.status = 'active') as is_inside
    from entrants x join journey_enrollments d on d.property_id = ${own} and d.journey_id = x.journey_id
      and d.player_id = x.player_id and d.entry_key = x.entry_key
    group by d.journey_id, d.player_id, d.entry_key`;
  const entered = sql`
    insert into journey_enrollments (property_id, id, journey_id, version, player_id, entry_key, entry, node, context,
      path, path_at, entered_at, arrived_at, wake_at)
    select ${own}, uuid_v7(), journey_id, version, player_id, entry_key, entries + 1, node, context, array[node],
      array[c.moment], c.moment, c.moment, c.moment
    from judged cross join (select ${now} as moment) c
    where not is_barred and not is_inside and not is_kept_out
    order by journey_id, player_id, entry_key
    on conflict do nothing
    returning journey_id, player_id, entry_key`;
  const [counted] = await context.sql<[Entries & { wanted: number; journeys: string[] }]>`
    with ${join([
      cte("entrants", entrants, "materialized"),
      cte("past", past, "materialized"),
      cte("judged", judged, "materialized"),
      cte("enrolled", entered),
      cte("ignored", ignoredCounts(context)),
    ])}
    select (select count(*)::int from enrolled) as entered, count(*)::int as wanted,
      count(*) filter (where is_barred)::int as barred,
      count(*) filter (where not is_barred and is_inside)::int as ignored_inside,
      count(*) filter (where not is_barred and not is_inside and is_kept_out)::int as ignored_reentry,
      array(select distinct journey_id from enrolled) as journeys
    from judged`;
  const { wanted, journeys, ...entries } = counted;
  for (const journeyId of journeys) stepSoon(context, journeyId);
  // Others have enrolled these in the meantime.
  const missed = wanted - entries.entered - entries.barred - entries.ignored_inside - entries.ignored_reentry;
  return { ...NOBODY, ...entries, ignored_inside: entries.ignored_inside + missed };
}

/** Rows of `journey_counts` among which the writers of ignored entries divide, so that events do not queue up. */
const SHARDS = 16;

/**
 * Counts the people of `judged` whom the journey ignores, in rows without a node. Another transaction may have enrolled
 * a person in the meantime.
 */
function ignoredCounts({ property, call }: Context): Fragment {
  const shard = createHash("sha256").update(call.requestId).digest()[0]! % SHARDS;
  return sql`
    insert into journey_counts (property_id, journey_id, version, from_node, edge, to_node, status, people)
    select ${property.id}::uuid, journey_id, version, '', edge, ${String(shard)}::text, 'ignored', people
    from (
      select j.journey_id, j.version, case when j.is_kept_out and not j.is_inside then 'ignored_reentry'
          else 'ignored_inside' end as edge,
        sum(case when n.journey_id is null then j.offered else j.offered - 1 end) as people
      from judged j left join enrolled n on n.journey_id = j.journey_id and n.player_id = j.player_id
        and n.entry_key = j.entry_key
      where not j.is_barred and (n.journey_id is null or j.offered > 1) group by 1, 2, 3
    ) c order by journey_id, version, edge
    on conflict (property_id, journey_id, version, from_node, edge, to_node, status)
      do update set people = journey_counts.people + excluded.people`;
}

/** Whether the journey of a trigger `t` has not come to its end. Waits have none. */
const isOpen = sql`coalesce(t.ends_at, 'infinity') > now()`;

const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

/**
 * Enrolls the players of stored events in the active journeys that these events open, and ends the waits for them. In the same transaction: an event
 * is stored if and only if its player has entered. Locks the journeys, so that no pause comes between.
 */
export async function enrollByEvents(
  context: Context,
  events: readonly { id: string; name: string; player_id: string }[],
): Promise<void> {
  if (events.length === 0) return;
  const { sql: transaction, property } = context;
  const names = [...new Set(events.map(({ name }) => name))];
  const opened = await transaction<{ id: string; kind: "event" | "wait"; journey: string }[]>`
    select t.id, t.kind, j.name as journey from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where t.property_id = ${property.id} and t.kind in ('event', 'wait') and t.name = any(${names}::text[])
      and j.status = 'active' and j.deleted_at is null and ${isOpen}
    order by j.id for share of j`;
  const [triggers, waits] = (["event", "wait"] as const).map((kind) =>
    opened.filter((row) => row.kind === kind),
  );
  const woken = waits!.length > 0 ? await endWaits(context, ids(waits!), ids(events)) : 0;
  const entered = triggers!.length > 0 ? await enterByEvents(context, ids(triggers!), ids(events)) : 0;
  askBeforeMoving(context, {
    cause: `Records ${names.map((name) => `the event ${JSON.stringify(name)}`).join(", ")}`,
    journeys: [...new Set(opened.map(({ journey }) => journey))],
    players: [...new Set(events.map((event) => event.player_id))],
    moved: woken + entered,
  });
}

/** Enrolls the players of these events by these triggers. Answers how many have entered. */
async function enterByEvents(context: Context, triggers: string[], events: string[]): Promise<number> {
  const { property } = context;
  const entrants = sql`
    select distinct on (t.journey_id, e.player_id, key) t.journey_id, t.version, t.node, t.reentry, e.player_id,
      key as entry_key,
      jsonb_build_object('event', e.name, 'event_id', e.id, 'properties', e.properties) as context,
      count(*) over (partition by t.journey_id, e.player_id, key) as events
    from journey_triggers t
      join player_events e on e.property_id = ${property.id}::uuid and e.name = t.name
        and e.id = any(${events}::uuid[])
      cross join lateral (select ${entryKey(sql`e.properties ->> t.key_property`)} as key) k
    where t.property_id = ${property.id}::uuid and t.id = any(${triggers}::uuid[])
      and (t.filter is null or e.properties @@ t.filter::jsonpath)
    order by t.journey_id, e.player_id, key, e.occurred_at, e.id`;
  const { entered } = await enroll(context, entrants, undefined, sql`x.events`);
  return entered;
}

/** A property's value as an entry key of at most 200 characters: a longer value ends in its hash, so that none is cut. */
function entryKey(value: Fragment): Fragment {
  const hash = sql`encode(sha256(convert_to(${value}, 'UTF8')), 'hex')`;
  return sql`case when length(${value}) > 200 then left(${value}, 135) || '~' || ${hash} else coalesce(${value}, '') end`;
}

/** Enrolls players who come into a segment or leave it, as `enrollByEvents`. `players`: rows of `player_id`. */
export async function enrollBySegment(
  context: Context,
  { kind, segmentId }: { kind: "segment_enter" | "segment_exit"; segmentId: string },
  players: Fragment,
): Promise<void> {
  const { sql: transaction, property } = context;
  const triggers = await transaction<{ id: string }[]>`
    select t.id from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where t.property_id = ${property.id} and t.kind = ${kind} and t.name = ${segmentId}::text
      and j.status = 'active' and j.deleted_at is null and ${isOpen}
    order by j.id for share of j`;
  if (triggers.length === 0) return;
  await enroll(
    context,
    sql`
      select distinct on (t.journey_id, e.player_id) t.journey_id, t.version, t.node, t.reentry, e.player_id,
        ''::text as entry_key, jsonb_build_object('segment_id', ${segmentId}::text) as context
      from journey_triggers t cross join (${players}) e
      where t.property_id = ${property.id}::uuid and t.id = any(${triggers.map(({ id }) => id)}::uuid[])
      order by t.journey_id, e.player_id, t.node`,
  );
}

/** Enrolls the sender of a stored text, as `enrollByEvents`. */
export async function enrollByText(
  context: Context,
  { messageId, playerId, text }: { messageId: string; playerId: string; text: string },
): Promise<void> {
  const { sql: transaction, property } = context;
  const triggers = await transaction<{ id: string; filter: string | null }[]>`
    select t.id, t.filter from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where t.property_id = ${property.id} and t.kind = 'inbound_sms' and j.status = 'active' and j.deleted_at is null
      and ${isOpen}
    order by j.id for share of j`;
  const said = text.toLowerCase();
  const meant = triggers.filter(({ filter }) => filter === null || said.includes(filter.toLowerCase()));
  if (meant.length === 0) return;
  await enroll(
    context,
    sql`
      select distinct on (t.journey_id) t.journey_id, t.version, t.node, t.reentry, ${playerId}::uuid as player_id,
        '' as entry_key, jsonb_build_object('message_id', ${messageId}::text) as context
      from journey_triggers t
      where t.property_id = ${property.id}::uuid and t.id = any(${meant.map(({ id }) => id)}::uuid[])
      order by t.journey_id, t.node`,
  );
}

/** The triggers `t` of all journeys that a play of the game may open. */
export function playTriggers(propertyId: string, gameId: string): Fragment {
  return sql`t.property_id = ${propertyId}::uuid and t.kind = 'game_play'
    and (t.name is null or t.name = ${gameId}::text)`;
}

/** Enrolls the player of a play, as `enrollByEvents`. */
export async function enrollByPlay(
  context: Context,
  {
    playId,
    gameId,
    playerId,
    outcome,
  }: { playId: string; gameId: string; playerId: string; outcome: string },
): Promise<void> {
  const { sql: transaction, property } = context;
  const triggers = await transaction<{ id: string; journey: string }[]>`
    select t.id, j.name as journey from journey_triggers t
      join journeys j on j.property_id = ${property.id} and j.id = t.journey_id
    where ${playTriggers(property.id, gameId)}
      and (t.filter is null or t.filter = ${outcome}) and j.status = 'active' and j.deleted_at is null and ${isOpen}
    order by j.id for share of j`;
  if (triggers.length === 0) return;
  const { entered } = await enroll(
    context,
    sql`
      select distinct on (t.journey_id) t.journey_id, t.version, t.node, t.reentry, ${playerId}::uuid as player_id,
        '' as entry_key, jsonb_build_object('play_id', ${playId}::text, 'game_id', ${gameId}::text,
          'outcome', ${outcome}::text) as context
      from journey_triggers t
      where t.property_id = ${property.id}::uuid and t.id = any(${triggers.map(({ id }) => id)}::uuid[])
      order by t.journey_id, t.node`,
  );
  // Without the outcome, which nobody sees before the play counts.
  askBeforeMoving(context, {
    cause: "The play counts for the player",
    journeys: triggers.map(({ journey }) => journey),
    players: [playerId],
    moved: entered,
  });
}
