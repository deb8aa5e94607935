import { cast, type Fragment, identifier, join, sql } from "#db/sql.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import { mergedCustom, sharedCustomFields } from "#tools/custom-fields/values.ts";
import { checkStatus, findGame } from "#tools/games/game/game.ts";
import { grantTickets } from "#tools/games/tickets/grant.ts";
import type { Node, NodeOf } from "#tools/journeys/definition/definition.ts";
import type { Moment } from "#tools/journeys/nodes/node.ts";
import { MOST_TAGS } from "#tools/players/rules.ts";
import refreshSegment from "#tools/segments/refresh-segment.job.ts";
import { OPEN_GAMES } from "#tools/statuses/games.ts";

/** Does to these people what their node does: their enrollments have just left it. */
export async function act(
  context: Context,
  moment: Moment,
  node: Node,
  enrollments: string[],
): Promise<void> {
  if (enrollments.length === 0) return;
  if (node.type === "update_player") return change(context, moment, node, enrollments);
  if (node.type === "add_to_segment") return add(context, node, enrollments);
  if (node.type === "grant_game_play") return grant(context, moment, node, enrollments);
  if (node.type === "webhook") await notify(context, moment, node, enrollments);
}

/** The players of the enrollments, in the order of their ids. */
function playersOf({ property }: Context, enrollments: string[]): Fragment {
  return sql`
    select distinct d.player_id as id from unnest(${enrollments}::uuid[]) w(id)
      join journey_enrollments d on d.property_id = ${property.id}::uuid and d.id = w.id
    where d.player_id is not null`;
}

/** Changes only the players who differ, so that nothing is announced twice. */
async function change(
  context: Context,
  { now }: Moment,
  { config }: NodeOf<"update_player">,
  enrollments: string[],
): Promise<void> {
  const { property } = context;
  const { tier, add_tags: added = [], remove_tags: removed = [], custom = {} } = config;
  // A field may have changed since the publishing: then the journey pauses, with this node and the reason.
  if (Object.keys(custom).length > 0) mergedCustom(await sharedCustomFields(context), custom);
  const emptied = Object.keys(custom).filter((key) => custom[key] === null);
  const filled = Object.fromEntries(Object.entries(custom).filter(([, value]) => value !== null));
  const next: Record<string, Fragment> = {
    ...(tier !== undefined && { tier: cast(tier, "text") }),
    ...(added.length + removed.length > 0 && { tags: tagsSql(added, removed) }),
    ...(Object.keys(custom).length > 0 && {
      custom: sql`(p.custom || ${filled}::jsonb) - ${emptied}::text[]`,
    }),
  };
  const names = Object.keys(next);
  const shown = join(
    names.map(
      (name) =>
        sql`p.${identifier(name)} as ${identifier(`old_${name}`)}, ${next[name]!} as ${identifier(name)}`,
    ),
  );
  const differs = join(
    names.map((name) => sql`c.${identifier(name)} is distinct from c.${identifier(`old_${name}`)}`),
    " or ",
  );
  const written = await context.sql<{ id: string; previous: object; tiered: boolean }[]>`
    with chosen as materialized (
      select p.id, ${shown} from players p
      where p.property_id = ${property.id} and p.id in (${playersOf(context, enrollments)})
      order by p.id for no key update of p
    ), differing as materialized (
      select c.* from chosen c where ${differs}
    ), written as (
      update players p
      set ${join(names.map((name) => sql`${identifier(name)} = c.${identifier(name)}`))}, updated_at = ${now}
      from differing c where p.property_id = ${property.id} and p.id = c.id
      returning p.id, ${join(names.map((name) => sql`c.${identifier(`old_${name}`)}, c.${identifier(name)}`))}
    )
    select id, jsonb_build_object(${join(names.map((name) => sql`${name}::text, ${identifier(`old_${name}`)}`))}) as previous,
      ${tier === undefined ? sql`false` : sql`tier is distinct from old_tier`} as tiered
    from written`;
  await announce(context, names, written);
}

/** The player's tags without the removed ones, with the added ones behind; too many stay as they were. */
function tagsSql(added: readonly string[], removed: readonly string[]): Fragment {
  const gone = cast([...removed, ...added], "text[]");
  const tags = sql`array(select t from unnest(p.tags) with ordinality o(t, n) where t <> all(${gone}) order by n) || ${cast(added, "text[]")}`;
  const present = sql`p.tags @> ${cast(added, "text[]")} and not p.tags && ${cast(removed, "text[]")}`;
  return sql`case when ${present} or cardinality(${tags}) > ${MOST_TAGS}::int then p.tags else ${tags} end`;
}

async function announce(
  { sql: transaction, property }: Context,
  names: readonly string[],
  written: readonly { id: string; previous: object; tiered: boolean }[],
): Promise<void> {
  if (written.length === 0) return;
  const changed = (rows: readonly object[]) => sql`
    select jsonb_build_object('id', p.id, 'player_id', p.player_id, ${join(names.map((name) => sql`${name}::text, p.${identifier(name)}`))}) as object,
      w.previous
    from jsonb_to_recordset(${rows}::jsonb) w(id uuid, previous jsonb)
      join players p on p.property_id = ${property.id} and p.id = w.id`;
  await emitMany(transaction, property.id, "player.updated", changed(written));
  const tiered = written.filter((one) => one.tiered);
  if (tiered.length > 0) await emitMany(transaction, property.id, "player.tier_changed", changed(tiered));
}

/** Seconds: a list that fills step by step is counted once in these. */
const COUNTED_AFTER = 5;

async function add(
  context: Context,
  { config }: NodeOf<"add_to_segment">,
  enrollments: string[],
): Promise<void> {
  const { sql: transaction, property, enqueue } = context;
  const { segment_id: segmentId } = config;
  const added = await transaction<{ id: string }[]>`
    insert into segment_members (property_id, segment_id, player_id, source)
    select s.property_id, s.id, p.id, 'journey' from (${playersOf(context, enrollments)}) p
      join segments s on s.property_id = ${property.id} and s.id = ${segmentId} and s.type = 'static'
        and s.deleted_at is null
    order by p.id
    on conflict (property_id, segment_id, player_id) do nothing
    returning id`;
  if (added.length === 0) return;
  enqueue(refreshSegment, { segmentId }, { dedupe: segmentId, runAt: COUNTED_AFTER });
  await emitMany(
    transaction,
    property.id,
    "player.segment_entered",
    sql`select to_jsonb(m) as object from segment_members m
      where m.property_id = ${property.id} and m.id = any(${added.map(({ id }) => id)}::uuid[])`,
  );
}

const DAY_MS = 86_400_000;

/** A ticket for each visit of a person, however often this step is repeated. */
async function grant(
  context: Context,
  { journeyId, at }: Moment,
  node: NodeOf<"grant_game_play">,
  enrollments: string[],
): Promise<void> {
  const { game_id: gameId, expires_in_days: days } = node.config;
  const expiresAt = days === undefined ? null : new Date(Date.parse(at) + days * DAY_MS).toISOString();
  await grantTickets(
    context,
    { gameId, source: "journey", sourceId: journeyId, expiresAt },
    sql`
      select d.player_id, 'journey:' || d.id || ':' || ${node.id}::text || ':'
        || cardinality(array_positions(d.path, ${node.id}::text)) as key
      from unnest(${enrollments}::uuid[]) w(id)
        join journey_enrollments d on d.property_id = ${context.property.id}::uuid and d.id = w.id
      where d.player_id is not null`,
  );
  // A message behind may promise the ticket: of an ended game, the journey pauses, with this node and the reason. Asked
  // behind the grant, because an end is final.
  checkStatus(await findGame(context, gameId), OPEN_GAMES, "give tickets");
}

async function notify(
  { sql: transaction, property }: Context,
  { journeyId, at }: Moment,
  node: NodeOf<"webhook">,
  enrollments: string[],
): Promise<void> {
  await emitMany(
    transaction,
    property.id,
    "player.journey_webhook",
    sql`
      select jsonb_build_object('enrollment_id', d.id, 'journey_id', ${journeyId}::uuid, 'node_id', ${node.id}::text,
        'name', ${node.config.name}::text, 'player_id', d.player_id, 'entry_key', d.entry_key,
        'context', d.context, 'at', ${at}::timestamptz) as object
      from unnest(${enrollments}::uuid[]) w(id)
        join journey_enrollments d on d.property_id = ${property.id} and d.id = w.id`,
  );
}
