import { adHoc, type Fragment, raw, sql } from "#db/sql.ts";
import { emitMany, isHeard } from "#runtime/funnel/outbox.ts";
import { columnNames } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import players from "#tools/players/players.table.ts";
import { BARRED_STATUSES } from "#tools/statuses/players.ts";

/** Changes of these are no news about the player. */
const UNTOLD = ["updated_at", "import_job_id"];

/**
 * Runs the update of the batch's players, and emits the events of their changes as single calls do: the whole record
 * and its former values. The former values are kept only where an endpoint has subscribed.
 */
export async function announced(context: Context, update: () => Promise<number>): Promise<number> {
  const { sql, property } = context;
  if (!(await isHeard(sql, property.id, ["player.updated", "player.tier_changed"]))) return update();
  await sql`create temp table import_before (${adHoc(raw("id uuid, data jsonb"))}) on commit drop`;
  await sql`
    insert into import_before
    select r.target, p.data from import_rows r cross join lateral (${record(context, sql`r.target`)}) p
    where r.target is not null and r.verdict is null`;
  const count = await update();
  const changed = (previous: Fragment) => sql`
    select p.data as object, ${previous} as previous
    from import_before b cross join lateral (${record(context, sql`b.id`)}) p`;
  const fields = sql`(
    select jsonb_object_agg(f.key, f.value) from jsonb_each(b.data) f
    where f.key <> all(${UNTOLD}::text[]) and p.data -> f.key is distinct from f.value)`;
  await emitMany(
    sql,
    property.id,
    "player.updated",
    sql`select * from (${changed(fields)}) c where c.previous is not null`,
  );
  await emitMany(
    sql,
    property.id,
    "player.tier_changed",
    sql`${changed(sql`jsonb_build_object('tier', b.data -> 'tier')`)}
      where p.data -> 'tier' is distinct from b.data -> 'tier'`,
  );
  return count;
}

/** One player as the API shows it. Each is looked up by itself, also before the planner has statistics. */
function record({ property }: Context, id: Fragment): Fragment {
  return sql`
    select to_jsonb(v) as data
    from (select ${columnNames(players)} from players where property_id = ${property.id} and id = ${id}) v offset 0`;
}

/** Emits the event of each player whom a list of self-exclusions has just barred. */
export async function announceExcluded({ sql, property }: Context): Promise<void> {
  await emitMany(
    sql,
    property.id,
    "player.self_excluded",
    sql`select jsonb_build_object('id', r.player, 'player_id', p.player_id, 'status', 'self_excluded') as object
      from import_rows r
      cross join lateral (
        select player_id from players where property_id = ${property.id} and id = r.player offset 0) p
      where r.excluded and r.verdict is null
        and (r.target is null or r.target_status <> all(${BARRED_STATUSES}::text[]))`,
  );
}
