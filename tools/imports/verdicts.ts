import type { Context } from "#runtime/operation.ts";
import { identityHash } from "#tools/players/identity.ts";
import { FREE_STATUSES, PLAYER_STATUSES } from "#tools/players/player.ts";
import { type ImportParams, MATCH_KEYS } from "./import-job.ts";
import type { Staged } from "./rows.ts";

/** The statuses that an import neither sets nor changes. */
export const KEPT_STATUSES = PLAYER_STATUSES.filter((status) => !FREE_STATUSES.includes(status));

export interface Verdict {
  row: number;
  /** Null: written. `skip`: left alone, as the mode or on_conflict says. Else why the row is refused. */
  verdict: "skip" | "erased" | "duplicate_in_file" | "type_mismatch" | "conflict" | null;
  excluded: boolean | null;
}

/** Finds each staged row's player, and says what becomes of it. Answers the rows that are not simply written. */
export async function judge(
  context: Context,
  jobId: string,
  params: ImportParams,
  rows: readonly Staged[],
): Promise<Verdict[]> {
  const { sql, property } = context;
  for (const key of MATCH_KEYS) {
    if (rows.some(({ matchOn }) => matchOn === key)) await match(context, key);
  }
  await checkLists(context, rows);
  const skips = {
    existing: params.mode === "create_only" || params.on_conflict === "skip",
    unknown: params.mode === "update_only",
  };
  await sql`
    update import_rows r set verdict = v.verdict
    from (
      select r.row, case
        when r.erased or r.target_status = 'erased' then 'erased'
        when r.target_job = ${jobId} then 'duplicate_in_file'
        when r.status = any(${KEPT_STATUSES}::text[]) and r.status is distinct from r.target_status then 'type_mismatch'
        when r.target is not null and ${skips.existing} then 'skip'
        when r.target is null and ${skips.unknown} then 'skip'
        when r.target is null and r.match_on <> 'player_id' and exists (
          select from players p
          where p.property_id = ${property.id} and p.player_id = r.player_id and p.deleted_at is null) then 'conflict'
        end as verdict
      from import_rows r) v
    where r.row = v.row and v.verdict is not null`;
  return sql<Verdict[]>`
    select row, verdict, excluded from import_rows where verdict is not null or excluded order by row`;
}

/** Of several players with one email or phone, the oldest is meant. */
async function match({ sql, property }: Context, key: (typeof MATCH_KEYS)[number]): Promise<void> {
  await sql`
    update import_rows r set target = p.id, target_status = p.status, target_job = p.import_job_id
    from (
      select distinct on (s.row) s.row, p.id, p.status, p.import_job_id
      from import_rows s join players p on p.${sql(key)} = s.${sql(key)}
      where s.match_on = ${key} and p.property_id = ${property.id} and p.deleted_at is null
      order by s.row, p.created_at, p.id) p
    where r.row = p.row`;
}

async function checkLists(context: Context, rows: readonly Staged[]): Promise<void> {
  const { sql, property } = context;
  await sql`
    update import_rows r set erased = s.erased, excluded = s.excluded
    from (
      select r.row, bool_or(s.reason = 'erased') as erased, bool_or(s.reason = 'self_excluded') as excluded
      from import_rows r cross join lateral unnest(array[r.email_hash, r.phone_hash]) as a(hash)
        join suppressions s on s.address_hash = a.hash
      where s.property_id = ${property.id} and s.lifted_at is null
        and (s.reason = 'erased' or (s.reason = 'self_excluded' and (s.expires_at is null or s.expires_at > now())))
      group by r.row) s
    where r.row = s.row`;
  const [lists] = await sql<{ people: boolean; addresses: boolean }[]>`
    select bool_or(identity_hash is not null) as people, bool_or(address_hashes <> '{}') as addresses
    from self_exclusions
    where property_id = ${property.id} and starts_at <= now() and (ends_at is null or ends_at > now())`;
  if (lists?.addresses) await excludeAddresses(context);
  if (lists?.people) await excludePeople(context, rows);
  await sql`update import_rows set excluded = true where target_status = 'self_excluded' and excluded is not true`;
}

async function excludeAddresses({ sql, property }: Context): Promise<void> {
  await sql`
    update import_rows r set excluded = true
    from self_exclusions x
    where x.property_id = ${property.id} and x.starts_at <= now() and (x.ends_at is null or x.ends_at > now())
      and x.address_hashes && array_remove(array[r.email_hash, r.phone_hash], null)`;
}

async function excludePeople({ sql, property }: Context, rows: readonly Staged[]): Promise<void> {
  const people = rows.flatMap(({ row, values }) => {
    const hash = identityHash(property.pepper, values);
    return hash ? [{ row, hash: hash.toString("hex") }] : [];
  });
  await sql`
    update import_rows r set excluded = true
    from jsonb_to_recordset(${people as never}::jsonb) as i(row int, hash text)
      join self_exclusions x on x.identity_hash = decode(i.hash, 'hex')
    where r.row = i.row and x.property_id = ${property.id} and x.starts_at <= now()
      and (x.ends_at is null or x.ends_at > now())`;
}
