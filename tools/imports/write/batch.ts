import { isDeepStrictEqual } from "node:util";
import { sql as part } from "#db/sql.ts";
import { readCell } from "#db/stream/csv.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { suppressAddressesOf } from "#tools/compliance/self-exclusion.ts";
import { type CustomFields, sharedCustomFields } from "#tools/custom-fields/values.ts";
import { failImport } from "#tools/imports/fail-import.ts";
import { type Choice, refuses, type Tally } from "#tools/imports/job/choices.ts";
import type { ImportJob } from "#tools/imports/job/import-job.ts";
import type { Layout } from "#tools/imports/read/layout.ts";
import type { Refusal, Staged } from "#tools/imports/read/rows.ts";
import { addressHash, comparedForm, normalizeEmail, normalizePhone } from "#tools/people/address.ts";
import { lockImports } from "#tools/people/locks.ts";
import { type Standing, writeConsents } from "./consents.ts";
import { meantPlayers } from "./meant-players.ts";
import { writePlayers } from "./players.ts";
import { countTaken, type RowVerdict, stageRows } from "./verdicts.ts";

const MOST_SHOWN = 1000;

/** Consecutive records of a file, written in one transaction. */
export interface RowBatch {
  /** Records of the file before this batch. */
  after: number;
  records: number;
  rows: Staged[];
  refusals: Refusal[];
  /** The import's summary behind this batch. */
  summary: (tally: Tally) => object;
  /** The custom fields at the time of reading the rows. */
  customs: CustomFields;
  /** The table has grown enough for new planner statistics. */
  analyze: boolean;
  /** Called when the database has the rows, and works on them. */
  onStaged: () => void;
}

interface Counts {
  created: number;
  updated: number;
  skipped: number;
}

/**
 * Writes one batch: players, consents, errors, counts and progress, in the caller's one transaction. False when the
 * import has been cancelled, or the batch is already written.
 */
export async function writeBatch(
  context: Context,
  job: ImportJob,
  layout: Layout,
  batch: RowBatch,
): Promise<boolean> {
  const { sql, property } = context;
  await sql`set local lock_timeout = '30s'`;
  // Imports into one property wait for each other, so that two of the same file find each other's players.
  await lockImports(context);
  const [tally] = await sql<Tally[]>`
    select ${TALLY} from import_jobs
    where property_id = ${property.id} and id = ${job.id} and status = 'processing' and processed = ${batch.after}
    for update`;
  if (!tally || (await endsWithMaker(context, job))) return false;
  await checkFields(context, batch);
  // After the lock, because rows of another import count too. Without it such a batch took 15 s, not 1.
  if (batch.analyze) {
    await sql`select analyze_players() from import_jobs where property_id = ${property.id} and id = ${job.id}`;
  }
  const { rows, flawed, refusals } = partRows(batch);
  const meant = await meantPlayers(context, flawed);
  const counts: Counts = { created: 0, updated: 0, skipped: 0 };
  if (job.params.dry_run) await sql`savepoint dry_run`;
  if (rows.length > 0) {
    const staged = await stageRows(context, job.id, job.params, rows, batch.onStaged);
    tally.taken += await countTaken(context);
    Object.assign(counts, await writePlayers(context, job.id, job.params, staged));
    await suppressAddressesOf(context, await excludedRows(context));
    const verdicts = new Map(staged.verdicts.map(({ row, verdict }) => [row, verdict]));
    const skipped = rows.filter(({ row }) => verdicts.get(row) === "skip");
    counts.skipped = skipped.length;
    tally.row_skipped += skipped.flatMap(grantsOf).length;
    refusals.push(...refusalsOf(staged.verdicts, rows));
    flawed.push(...rows.filter((one) => refuses(one) && (verdicts.get(one.row) ?? null) !== null));
  }
  const { standing, noAddress, unbarred } = await writeConsents(context, job, { rows, flawed, meant });
  tally.no_address += noAddress;
  tally.unbarred += unbarred;
  refusals.push(...standingNotices(standing, rows));
  if (job.params.dry_run) await sql`rollback to savepoint dry_run`;
  await writeErrors(context, job.id, layout, refusals);
  await writeProgress(context, job.id, batch, counts, tally);
  return true;
}

const GONE = {
  api_key: "The API key that started the import has been revoked.",
  user: "The person who started the import may no longer act in this property.",
  system: "",
} as const;

/** Ends the import when its maker lost the right to act: somebody took it away because something was wrong. */
async function endsWithMaker(context: Context, { id, actor_type, actor_id }: ImportJob): Promise<boolean> {
  const [maker] = await context.sql<
    [{ acts: boolean }]
  >`select still_acts(${actor_type}, ${actor_id}) as acts`;
  if (maker.acts) return false;
  const rest = "Import the rest by another one: the rows that are written stand.";
  return failImport(context, id, `${GONE[actor_type]} ${rest}`);
}

/** Throws when the custom fields have changed since the rows were read; the job's next attempt reads them again. */
async function checkFields(context: Context, { rows, customs }: RowBatch): Promise<void> {
  if (!rows.some(({ values }) => values.custom)) return;
  const now = await sharedCustomFields(context);
  if (isDeepStrictEqual([...now.values()], [...customs.values()])) return;
  throw new Error("the custom fields have changed since the file was read");
}

/** The players of this batch who have excluded themselves. */
async function excludedRows({ sql }: Context): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select player as id from import_rows where excluded and verdict is null`;
  return rows.map(({ id }) => id);
}

/**
 * A row with only an email or phone may mean the player of an earlier row in the same batch, and is refused. `flawed`
 * are the rows that are not written, but whose refusal of a channel counts.
 */
function partRows(batch: RowBatch): { rows: Staged[]; flawed: Staged[]; refusals: Refusal[] } {
  const refusals = [...batch.refusals];
  const flawed: Staged[] = [];
  const shown = new Set<string>();
  const rows = batch.rows.filter((staged) => {
    const { row, matchOn, values, cells, flaws } = staged;
    const { email, phone } = values;
    const value = values[matchOn] ?? null;
    const isTwin = matchOn !== "player_id" && shown.has(`${matchOn} ${comparedForm(value ?? "")}`);
    const twin = { row, cells, column: matchOn, value, code: "duplicate_in_file" as const };
    const wrong = flaws.length === 0 && isTwin ? [{ ...twin, message: MESSAGES.duplicate_in_file }] : flaws;
    refusals.push(...wrong);
    if (wrong.length > 0 && refuses(staged)) flawed.push(staged);
    if (flaws.length === 0 && email) shown.add(`email ${email}`);
    if (flaws.length === 0 && phone) shown.add(`phone ${comparedForm(phone)}`);
    return wrong.length === 0;
  });
  return { rows, flawed, refusals };
}

const MESSAGES = {
  erased: "This person had their data erased; they must not be stored again.",
  duplicate_in_file: "An earlier row of the file is about the same player.",
  type_mismatch: "This status is set by its own function; an import neither sets nor changes it.",
  conflict: "Another player has this player_id.",
  self_excluded: "The player is self-excluded: the row is in, with that status, and gets no messages.",
  refusal_stands:
    "The row is in without this consent: the player has refused it, and only the person lifts that.",
} as const;

const COLUMNS = {
  erased: null,
  duplicate_in_file: null,
  type_mismatch: "status",
  conflict: "player_id",
} as const;

function refusalsOf(verdicts: readonly RowVerdict[], rows: readonly Staged[]): Refusal[] {
  const byRow = new Map(rows.map((row) => [row.row, row]));
  return verdicts.flatMap(({ row, verdict, excluded }): Refusal[] => {
    const staged = byRow.get(row);
    if (!staged || verdict === "skip") return [];
    const base = { row, cells: staged.cells, value: null };
    if (verdict === null) {
      return excluded
        ? [{ ...base, column: null, code: "self_excluded", message: MESSAGES.self_excluded }]
        : [];
    }
    const column = COLUMNS[verdict];
    const value = column === null ? null : (staged.values[column] ?? null);
    return [{ ...base, column, value, code: verdict, message: MESSAGES[verdict] }];
  });
}

/** Names the consents that were not written because a refusal stands against them. */
function standingNotices(standing: readonly Standing[], rows: readonly Staged[]): Refusal[] {
  const cells = new Map(rows.map((row) => [row.row, row.cells]));
  return standing.map(({ row, channel }) => ({
    row,
    cells: cells.get(row) ?? [],
    column: `consent.${channel}`,
    value: null,
    code: "refusal_stands",
    message: MESSAGES.refusal_stands,
  }));
}

/** Writes the errors of rows; row 0 is the file itself. */
export async function writeErrors(
  { sql, property }: Context,
  jobId: string,
  layout: Layout,
  refusals: readonly Refusal[],
): Promise<void> {
  if (refusals.length === 0) return;
  const silent = await erasedRows({ sql, property }, refusals);
  const seqs = new Map<number, number>();
  const errors = refusals.map(({ cells, ...refusal }) => {
    const seq = seqs.get(refusal.row) ?? 0;
    seqs.set(refusal.row, seq + 1);
    if (silent.has(refusal.row)) return { ...refusal, seq, value: null, original_row: null };
    return { ...refusal, seq, original_row: refusal.row === 0 ? null : originalOf(layout, cells) };
  });
  await sql`
    insert into import_errors (property_id, job_id, row, seq, "column", code, message, value, original_row)
    select ${property.id}, ${jobId}, row, seq, "column", code, message, value, original_row
    from json_to_recordset(${errors}::json) as e(row int, seq int, "column" text, code text, message text,
      value text, original_row json)
    returning 1`;
}

/** The rows of erased persons, whose cells are not stored. */
async function erasedRows({ sql, property }: Tenant, refusals: readonly Refusal[]): Promise<Set<number>> {
  const known = refusals.filter(({ code }) => code === "erased").map(({ row }) => row);
  const addresses = refusals.flatMap(({ row, cells }) =>
    addressesIn(cells, property.default_country).map((address) => ({
      row,
      hash: addressHash(property.pepper, address).toString("hex"),
    })),
  );
  const found = await sql<{ row: number }[]>`
    with given as materialized (
      select row, decode(hash, 'hex') as hash
      from jsonb_to_recordset(${addresses}::jsonb) as r(row int, hash text)
    )
    select g.row from given g
    where exists (
      select from suppressions s
      where s.property_id = ${property.id} and s.address_hash = g.hash and s.reason = 'erased'
        and s.lifted_at is null offset 0)`;
  return new Set([...known, ...found.map(({ row }) => row)]);
}

const DIALED = /^[\d\s()+./-]{7,30}$/;

function addressesIn(cells: readonly string[], country: string): string[] {
  return cells.flatMap((cell) => {
    const text = cell.length > MOST_SHOWN ? "" : readCell(cell).trim();
    const address = text.includes("@")
      ? normalizeEmail(text)
      : DIALED.test(text)
        ? normalizePhone(text, country)
        : null;
    return address === null ? [] : [address];
  });
}

function originalOf({ header }: Layout, cells: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    header.map((name, index) => [
      name,
      (cells[index] ?? "").slice(0, MOST_SHOWN).replaceAll("\0", "�").toWellFormed(),
    ]),
  );
}

/** The columns of `Tally`. The database keeps them, as a batch that is written is not judged again. */
export const TALLY = part`
  coalesce((summary #>> '{consents_not_recorded,no_address}')::int, 0) as no_address,
  coalesce((summary #>> '{consents_not_recorded,row_skipped}')::int, 0) as row_skipped,
  coalesce((summary #>> '{refusals_not_recorded,no_address}')::int, 0) as unbarred,
  coalesce((summary #>> '{taken_addresses}')::int, 0) as taken`;

function grantsOf({ choices }: Staged): Choice[] {
  return choices.filter(({ given }) => given);
}

async function writeProgress(
  { sql, property }: Context,
  jobId: string,
  batch: RowBatch,
  { created, updated, skipped }: Counts,
  tally: Tally,
): Promise<void> {
  const processed = batch.after + batch.records;
  const succeeded = created + updated;
  await sql`
    update import_jobs set processed = ${processed}, total = greatest(total, ${processed}::int),
      succeeded = succeeded + ${succeeded}, skipped = skipped + ${skipped},
      failed = failed + ${batch.records - succeeded - skipped}, created_count = created_count + ${created},
      updated_count = updated_count + ${updated}, updated_at = now(),
      summary = ${batch.summary(tally)}
    where property_id = ${property.id} and id = ${jobId}`;
}
