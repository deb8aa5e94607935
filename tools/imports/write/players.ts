import { literals, raw } from "#db/sql.ts";
import { transactionStart } from "#db/transaction-start.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import {
  barLeftAddresses,
  freeLeftAddresses,
  LEFT_BARRED,
  type Leaving,
} from "#tools/compliance/left-addresses.ts";
import type { ImportParams } from "#tools/imports/job/import-job.ts";
import refreshSegment from "#tools/segments/refresh-segment.job.ts";
import { BARRED_STATUSES, CONTACTABLE_STATUSES } from "#tools/statuses/players.ts";
import { announced, announceExcluded } from "./player-events.ts";
import type { StagedRows } from "./verdicts.ts";

const SPECIAL = new Set(["player_id", "status", "tags", "custom"]);
/** The fields of a new player in its event, besides the ids. */
const EVENT_FIELDS = ["first_name", "last_name", "tier", "adt", "coin_in"];

/** Upserts the staged rows that have no verdict. Returns how many players it has created and updated. */
export async function writePlayers(
  context: Context,
  jobId: string,
  params: ImportParams,
  staged: StagedRows,
): Promise<{ created: number; updated: number }> {
  const plain = staged.columns.filter((name) => !SPECIAL.has(name));
  const updated =
    staged.existing > 0 ? await announced(context, () => updatePlayers(context, jobId, params, plain)) : 0;
  const created = await createPlayers(context, jobId, params, plain);
  await announceExcluded(context);
  if (params.segment_id) await joinSegment(context, params.segment_id);
  return { created, updated };
}

async function updatePlayers(
  context: Context,
  jobId: string,
  params: ImportParams,
  plain: readonly string[],
): Promise<number> {
  const { sql, property } = context;
  const fills = params.on_conflict === "fill_blanks";
  if (!fills) {
    await barLeftAddresses(context, await leavingPlayers(context));
    await freeLeftAddresses(context, await freedPlayers(context));
  }
  const assignments = plain.map((name) =>
    fills ? `${name} = coalesce(p.${name}, r.${name})` : `${name} = coalesce(r.${name}, p.${name})`,
  );
  const result = await sql`
    update players p set ${raw(assignments.join(", "))},
      status = case
        when p.status in (${literals(BARRED_STATUSES)}) then p.status
        when r.excluded then 'self_excluded'
        ${fills ? sql`else p.status` : sql`else coalesce(r.status, p.status)`} end,
      custom = ${fills ? sql`coalesce(r.custom, '{}') || p.custom` : sql`p.custom || coalesce(r.custom, '{}')`},
      tags = case when p.tags @> a.tags then p.tags
        else p.tags || array(select t from unnest(a.tags) with ordinality u (t, place)
            where t <> all(p.tags) group by t order by min(place)) end,
      ${
        fills
          ? sql``
          : sql`
        email_status = case when r.email <> p.email then 'unknown' else p.email_status end,
        email_validated_at = case when r.email <> p.email then null else p.email_validated_at end,`
      }
      import_job_id = ${jobId}, updated_at = now()
    from import_rows r
      cross join lateral (select coalesce(r.tags, '{}') || ${params.tags}::text[] as tags) a
    where p.property_id = ${property.id} and p.id = r.target and r.verdict is null`;
  return result.count;
}

/** The players whom their rows take off hold. */
async function freedPlayers({ sql }: Context): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select target as id from import_rows
    where target_status = 'vip_hold' and status in (${literals(CONTACTABLE_STATUSES)}) and excluded is not true and verdict is null`;
  return rows.map(({ id }) => id);
}

/** The players with a bar whose rows give them another address. */
async function leavingPlayers({ sql, property }: Context): Promise<Leaving[]> {
  const rows = await sql<Leaving[]>`
    select p.id, p.email, p.phone
    from import_rows r cross join lateral (
      select o.id, coalesce(o.email_hash <> r.email_hash
            and (b.bars or o.consents ->> 'email' = 'false'), false) as email,
          coalesce(o.phone_hash <> r.phone_hash
            and (b.bars or 'false' in (o.consents ->> 'sms', o.consents ->> 'voice')), false) as phone
      from players o cross join lateral (select o.status = any(${[...LEFT_BARRED]}::text[]) as bars) b
      where o.property_id = ${property.id} and o.id = r.target offset 0) p
    where r.target is not null and r.verdict is null and (p.email or p.phone)`;
  return [...rows];
}

async function createPlayers(
  { sql, property }: Context,
  jobId: string,
  params: ImportParams,
  plain: readonly string[],
): Promise<number> {
  const columns = raw(plain.join(", "));
  const status = sql`case when excluded then 'self_excluded' else coalesce(barred, status, 'active') end`;
  const result = await sql`
    insert into players (property_id, id, player_id, status, custom, tags, import_job_id, ${columns})
    select ${property.id}, id, coalesce(player_id, id::text), ${status}, coalesce(custom, '{}'),
      case when tags is null then ${params.tags}::text[]
        else array(select t from unnest(tags || ${params.tags}::text[]) with ordinality u (t, place)
          group by t order by min(place)) end, ${jobId}, ${columns}
    from import_rows where target is null and verdict is null
    returning 1`;
  if (result.count > 0) {
    const fields = raw(
      EVENT_FIELDS.map((name) => (plain.includes(name) ? name : `null as ${name}`)).join(", "),
    );
    // Not read from players: without statistics of the property the planner expects one row. A join with the staged
    // rows then compares each with each, 10 s a batch.
    await emitMany(
      sql,
      property.id,
      "player.created",
      sql`
      select to_jsonb(v) as object from (
        select id, ${property.id}::uuid as property_id, coalesce(player_id, id::text) as player_id, ${fields},
          ${status} as status, ${jobId}::uuid as import_job_id, now() as created_at
        from import_rows where target is null and verdict is null) v`,
    );
  }
  return result.count;
}

async function joinSegment({ sql, property, enqueue }: Context, segmentId: string): Promise<void> {
  const start = await transactionStart(sql);
  const joined = await sql`
    insert into segment_members (property_id, segment_id, player_id, source, added_at)
    select distinct ${property.id}::uuid, ${segmentId}::uuid, player, 'import', ${start}::timestamptz
    from import_rows where verdict is null
    on conflict (property_id, segment_id, player_id) do nothing`;
  if (joined.count === 0) return;
  enqueue(refreshSegment, { segmentId }, { dedupe: segmentId });
  await emitMany(
    sql,
    property.id,
    "player.segment_entered",
    sql`select to_jsonb(m) as object from segment_members m
      where m.property_id = ${property.id} and m.segment_id = ${segmentId} and m.added_at = ${start}::timestamptz`,
  );
}
