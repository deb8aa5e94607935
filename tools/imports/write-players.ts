import type { Context } from "#runtime/operation.ts";
import { emitMany } from "#runtime/outbox.ts";
import type { ImportParams } from "./import-job.ts";
import { PLAYER_COLUMNS } from "./staging.ts";
import { KEPT_STATUSES } from "./verdicts.ts";

const SPECIAL = new Set(["player_id", "status", "tags", "custom"]);
const PLAIN = Object.keys(PLAYER_COLUMNS).filter((name) => !SPECIAL.has(name));
const LISTED = KEPT_STATUSES.map((status) => `'${status}'`).join(", ");

const OVERWRITTEN = PLAIN.map((name) => `${name} = coalesce(r.${name}, p.${name})`).join(", ");
const FILLED = PLAIN.map((name) => `${name} = coalesce(p.${name}, r.${name})`).join(", ");

/** Upserts the staged rows that nothing speaks against. Answers how many players are new, and how many are not. */
export async function writePlayers(
  context: Context,
  jobId: string,
  params: ImportParams,
  existing: number,
): Promise<{ created: number; updated: number }> {
  const updated = existing > 0 ? await updatePlayers(context, jobId, params) : 0;
  const created = await createPlayers(context, jobId, params);
  if (params.segment_id) await joinSegment(context, params.segment_id);
  return { created, updated };
}

async function updatePlayers(
  { sql, property }: Context,
  jobId: string,
  params: ImportParams,
): Promise<number> {
  const fills = params.on_conflict === "fill_blanks";
  const result = await sql`
    update players p set ${sql.unsafe(fills ? FILLED : OVERWRITTEN)},
      status = case
        when p.status in (${sql.unsafe(LISTED)}) then p.status
        when r.excluded then 'self_excluded'
        ${fills ? sql`else p.status` : sql`else coalesce(r.status, p.status)`} end,
      custom = ${fills ? sql`coalesce(r.custom, '{}') || p.custom` : sql`p.custom || coalesce(r.custom, '{}')`},
      tags = case when p.tags @> a.tags then p.tags
        else p.tags || array(select distinct t from unnest(a.tags) t where t <> all(p.tags)) end,
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

async function createPlayers(
  { sql, property }: Context,
  jobId: string,
  params: ImportParams,
): Promise<number> {
  const columns = sql.unsafe(PLAIN.join(", "));
  const result = await sql`
    insert into players (property_id, id, player_id, status, custom, tags, import_job_id, ${columns})
    select ${property.id}, id, coalesce(player_id, id::text),
      case when excluded then 'self_excluded' else coalesce(status, 'active') end, coalesce(custom, '{}'),
      case when tags is null then ${params.tags}::text[]
        else array(select distinct t from unnest(tags || ${params.tags}::text[]) t) end, ${jobId}, ${columns}
    from import_rows where target is null and verdict is null order by row`;
  if (result.count > 0) {
    await emitMany(
      sql,
      property.id,
      "player.created",
      sql`
      select to_jsonb(v) as object from (
        select p.id, p.property_id, p.player_id, p.first_name, p.last_name, p.tier, p.adt, p.coin_in, p.status,
          p.import_job_id, p.created_at
        from import_rows r join players p on p.property_id = ${property.id} and p.id = r.id
        where r.target is null and r.verdict is null) v`,
    );
  }
  return result.count;
}

async function joinSegment({ sql, property }: Context, segmentId: string): Promise<void> {
  await sql`
    insert into segment_members (property_id, segment_id, player_id, source)
    select distinct ${property.id}::uuid, ${segmentId}::uuid, coalesce(target, id), 'import'
    from import_rows where verdict is null
    on conflict (property_id, segment_id, player_id) do nothing`;
}
