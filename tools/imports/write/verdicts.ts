import { type Fragment, identifier, join, sql as part, raw } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type ImportParams, MATCH_KEYS, type MatchKey } from "#tools/imports/job/import-job.ts";
import type { Staged } from "#tools/imports/read/rows.ts";
import { anyBar, anyErased, barOf, numberHash } from "#tools/people/bars.ts";
import { identityHash } from "#tools/people/identity.ts";
import { BARRED_STATUSES } from "#tools/statuses/players.ts";
import { columnsIn, stage } from "./staging.ts";

export interface RowVerdict {
  row: number;
  /** Null: written. `skip`: left alone, by the mode or on_conflict. Any other: the reason for refusing the row. */
  verdict: "skip" | "erased" | "duplicate_in_file" | "type_mismatch" | "conflict" | null;
  excluded: boolean | null;
}

export interface StagedRows {
  /** The rows with a verdict. */
  verdicts: RowVerdict[];
  /** Rows whose player already exists. */
  existing: number;
  /** The columns of `players` that the rows give. */
  columns: string[];
}

/**
 * Fills the transaction's table `import_rows`: each row with its player and its verdict. It looks each row up by
 * itself, so the plan does not depend on statistics: a table that grows within minutes has none.
 */
export async function stageRows(
  context: Context,
  jobId: string,
  params: ImportParams,
  rows: readonly Staged[],
  onStaged: () => void,
): Promise<StagedRows> {
  const { sql, property } = context;
  const lists = await exclusionLists(context);
  const hashes = {
    person: ({ values }: Staged) => (lists.people ? identityHash(property.pepper, values) : null),
    number: ({ values: { player_id } }: Staged) =>
      lists.erased && player_id ? numberHash(property.pepper, player_id) : null,
  };
  const columns = columnsIn(rows);
  await stage(sql, rows, columns, hashes);
  onStaged();
  const used = MATCH_KEYS.filter((key) => rows.some(({ matchOn }) => matchOn === key));
  const skipsExisting = params.mode === "create_only" || params.on_conflict === "skip";
  const skipsUnknown = params.mode === "update_only";
  const filling = sql`
    insert into import_rows
    select r.*, p.id, p.status, l.excluded or p.status = 'self_excluded' or b.status = 'self_excluded'
        or x.id is not null, b.status, case
      when l.erased or p.status = 'erased' then 'erased'
      when p.import_job_id = ${jobId} or ${isLater(context, used, lists.aliases)} then 'duplicate_in_file'
      when r.status = any(${BARRED_STATUSES}::text[]) and r.status is distinct from p.status then 'type_mismatch'
      when p.id is not null and ${skipsExisting} then 'skip'
      when p.id is null and ${skipsUnknown} then 'skip'
      when o.id is not null then 'conflict'
      end
    from import_file r
      left join lateral (${matches(context, used, lists.aliases)}) p on true
      left join lateral (${namesakes(context, lists.aliases)}) o on true
      left join lateral (${exclusions(context, lists)}) x on true
      left join lateral (${lists.bars || lists.erased ? barOf(context, part`r.player_id`, part`r.number_hash`) : sql`select null::text as status`}) b on true
      left join lateral (
        -- The player with the row's player_id keeps an address that another player's erasure has barred.
        select bool_or(s.reason = 'erased' and not coalesce(
            r.match_on = 'player_id' and s.address_hash in (p.email_hash, p.phone_hash), false)) as erased,
          bool_or(s.reason = 'self_excluded') as excluded
        from suppressions s
        where s.property_id = ${property.id} and s.address_hash in (r.email_hash, r.phone_hash)
          and s.lifted_at is null and s.reason in ('erased', 'self_excluded')
          and (s.reason = 'erased' or s.expires_at is null or s.expires_at > now())
      ) l on true`;
  await lookingUp(context, filling);
  if (lists.people) await findExcluded(context, columns, params.on_conflict);
  const [[found], verdicts] = await Promise.all([
    sql<{ existing: number }[]>`
      select count(*)::int as existing from import_rows where target is not null and verdict is null`,
    sql<RowVerdict[]>`
      select row, verdict, excluded from import_rows where verdict is not null or excluded order by row`,
  ]);
  return { verdicts, existing: found!.existing, columns };
}

/**
 * The rows that make a player with an address of another one: of one who is there, or of an earlier row. Asked before
 * the rows are written, so that no row finds its own player.
 */
export async function countTaken(context: Context): Promise<number> {
  const { sql, property } = context;
  const holder = (key: MatchKey) => sql`
    select true as found from players p
    where r.target is null and p.property_id = ${property.id} and p.deleted_at is null and ${hasKey("p", key)} limit 1`;
  const later = (key: MatchKey) =>
    sql`r.${raw(key)} is not null and row_number() over (partition by r.${raw(COMPARED[key])} order by r.row) > 1`;
  const counting = sql<[{ taken: number }]>`
    select count(*) filter (where m.target is null and m.taken)::int as taken
    from (
      select r.target, e.found or f.found or ${later("email")} or ${later("phone")} as taken
      from import_rows r
        left join lateral (${holder("email")}) e on true left join lateral (${holder("phone")}) f on true
      where r.verdict is null) m`;
  const [counted] = await lookingUp(context, counting);
  return counted.taken;
}

const NAMES = ["first_name", "last_name", "birth_date"] as const;

/** Rows that give only a part of a name and birth date, which with the rest in the player's record is a self-excluded person. */
async function findExcluded(
  { sql, property }: Context,
  columns: readonly string[],
  onConflict: ImportParams["on_conflict"],
): Promise<void> {
  const given = NAMES.filter((name) => columns.includes(name));
  if (given.length === 0) return;
  const fills = onConflict === "fill_blanks";
  const values = NAMES.map((name) => {
    const [own, known] = [part`r.${identifier(name)}`, part`p.${identifier(name)}`];
    if (!given.includes(name)) return part`${known} as ${identifier(name)}`;
    return part`coalesce(${fills ? known : own}, ${fills ? own : known}) as ${identifier(name)}`;
  });
  const people = await sql<({ row: number } & Record<(typeof NAMES)[number], string | null>)[]>`
    select r.row, v.first_name, v.last_name, v.birth_date::text
    from import_rows r cross join lateral (
      select ${join(values)} from players p where p.property_id = ${property.id} and p.id = r.target offset 0) v
    where r.verdict is null and r.excluded is not true
      and (${join(
        given.map((name) => part`r.${identifier(name)} is not null`),
        " or ",
      )})`;
  const hashed = people.flatMap(({ row, ...person }) => {
    const hash = identityHash(property.pepper, person)?.toString("hex");
    return hash === undefined ? [] : [{ row, hash }];
  });
  if (hashed.length === 0) return;
  const found = await sql<{ row: number }[]>`
    with people as materialized (
      select row, decode(hash, 'hex') as hash from jsonb_to_recordset(${hashed}::jsonb) as h(row int, hash text)
    )
    select h.row from people h join self_exclusions x on x.identity_hash = h.hash
    where x.property_id = ${property.id} and x.starts_at <= now() and (x.ends_at is null or x.ends_at > now())`;
  await sql`update import_rows set excluded = true where row = any(${found.map(({ row }) => row)}::int[])`;
}

/**
 * Runs a statement that looks rows up in the order of a key. The planner must not sort, so it takes the key's own index.
 * Where all players are deleted, its estimates let it take any index, and read all their old versions for each row.
 */
export async function lookingUp<T>({ sql }: Pick<Context, "sql">, statement: Promise<T>): Promise<T> {
  const unsorted = sql`set local enable_sort = off`;
  const [, result] = await Promise.all([unsorted, statement, sql`set local enable_sort to default`]);
  return result;
}

/** The player of row `r`, for `lookingUp`. Among several players with one email or phone, the oldest counts. */
export function matches({ sql, property }: Context, used: readonly MatchKey[], hasAliases: boolean) {
  const byKey = (key: MatchKey) => sql`(
    select p.id, p.status, p.import_job_id, p.created_at, p.email_hash, p.phone_hash from players p
    where r.match_on = ${key} and p.property_id = ${property.id} and p.deleted_at is null and ${hasKey("p", key)})`;
  // The player_id of a merged record means the record that it was merged into.
  const byAlias = sql`
    select p.id, p.status, p.import_job_id, p.created_at, p.email_hash, p.phone_hash
    from players d join players p on p.property_id = ${property.id} and p.id = d.merged_into
    where r.match_on = 'player_id' and d.property_id = ${property.id} and d.player_id = r.player_id
      and d.deleted_at is not null and d.merged_into is not null and p.deleted_at is null`;
  const known = used.includes("player_id") && hasAliases ? [byAlias] : [];
  const all = [...used.map(byKey), ...known].reduce((left, right) => sql`${left} union all ${right}`);
  // "offset 0" keeps the order from choosing an index that walks all players by age.
  return sql`select m.* from (${all} offset 0) m order by m.created_at, m.id limit 1`;
}

/** The column by which a key is compared: one phone number may be written in two forms, which have one hash. */
const COMPARED = { player_id: "player_id", email: "email", phone: "phone_hash" } as const satisfies Record<
  MatchKey,
  string
>;

/**
 * The end of a query: the player has the key of row `r`, in the order of the key. It is a range, because the planner
 * drops an order by a column that equals one value.
 */
function hasKey(player: string, key: MatchKey): Fragment {
  const name = raw(COMPARED[key]);
  const [own, given] = [part`${raw(player)}.${name}`, part`r.${name}`];
  return part`${own} >= ${given} and ${own} <= ${given} order by ${own}`;
}

/** Two rows of one batch can mean the same player: one by email, one by phone, or by the player_id of a merged record. */
function isLater({ sql }: Context, used: readonly MatchKey[], hasAliases: boolean) {
  if (used.length < 2 && !hasAliases) return sql`false`;
  return sql`(p.id is not null and row_number() over (partition by p.id order by r.row) > 1)`;
}

interface Lists {
  /** The property has self-exclusions that name their person. */
  people: boolean;
  /** Records of the property were merged. */
  aliases: boolean;
  /** Records of the property are deleted whose number is barred still. */
  bars: boolean;
  /** Records of the property were erased. */
  erased: boolean;
}

async function exclusionLists(context: Context): Promise<Lists> {
  const { sql, property } = context;
  const [lists] = await sql<Lists[]>`
    select exists (select from self_exclusions x
        where ${activeExclusion(property)} and x.identity_hash is not null) as people,
      exists (select from players d where d.property_id = ${property.id} and d.merged_into is not null) as aliases,
      ${anyBar(context)} as bars, ${anyErased(context)} as erased`;
  return lists!;
}

/**
 * The player who has the player_id of row `r`, where the row means nobody by its email or phone. The player_id of a
 * merged record goes to no new record, also when the kept one is deleted.
 */
function namesakes({ sql, property }: Context, hasAliases: boolean) {
  const having = (condition: Fragment) => sql`(
    select o.id from players o
    where p.id is null and o.property_id = ${property.id} and ${condition} and ${hasKey("o", "player_id")})`;
  const living = having(sql`r.match_on <> 'player_id' and o.deleted_at is null`);
  return hasAliases
    ? sql`${living} union all ${having(sql`o.deleted_at is not null and o.merged_into is not null`)} limit 1`
    : living;
}

/** A self-exclusion of the person of row `r`. Its addresses are among the suppressions. */
function exclusions({ sql, property }: Context, lists: Lists) {
  if (!lists.people) return sql`select null::uuid as id`;
  return sql`
    select x.id from self_exclusions x
    where ${activeExclusion(property)} and x.identity_hash = r.identity_hash limit 1`;
}

/** Over `self_exclusions x`. */
const activeExclusion = ({ id }: Context["property"]) =>
  part`x.property_id = ${id} and x.starts_at <= now() and (x.ends_at is null or x.ends_at > now())`;
