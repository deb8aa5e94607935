import { literals } from "#db/sql.ts";
import { Fault, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { type CustomFields, customFields } from "#tools/custom-fields/values.ts";
import { endJob, OPEN_JOBS, transactAgain } from "#tools/jobs/async-job.ts";
import { failImport } from "./fail-import.ts";
import importJobs from "./import-jobs.table.ts";
import {
  type LostRefusals,
  peopleWarnings,
  type Tally,
  tierWarnings,
  type Unrecorded,
  warningsOf,
} from "./job/choices.ts";
import { type ImportJob, ImportPlayers } from "./job/import-job.ts";
import { MOST_ROWS, records, type Survey, survey } from "./read/csv.ts";
import { decimalOf } from "./read/file-decimal.ts";
import { seenIdentities } from "./read/identity-set.ts";
import { columnWarnings, type Layout, layoutOf } from "./read/layout.ts";
import { type Refusal, type RowRules, rowReader } from "./read/rows.ts";
import { dropUpload, uploaded } from "./upload.ts";
import { type RowBatch, TALLY, writeBatch, writeErrors } from "./write/batch.ts";

/** The number of records in a transaction, unless they are very long. */
const BATCH_RECORDS = 10_000;
/**
 * The fewest records in a transaction. A job that was killed takes fewer at a time, so that some are committed before
 * the next kill.
 */
const FEWEST_RECORDS = 500;
const BATCH_CHARACTERS = 8 * 1_048_576;

export default job({
  ...ImportPlayers,
  async handler(context, { jobId }) {
    try {
      const opened = await context.transact((inner) => open(inner, jobId));
      if (opened) await run(context, opened);
    } catch (error) {
      const fault = toFault(error);
      const isFile = fault.code === "invalid" || fault.code === "too_large";
      if (context.signal.aborted || !(isFile || context.isLast)) throw error;
      await context.transact((inner) => failImport(inner, jobId, fault.message));
      if (!isFile) throw error;
    }
  },
});

/** Starts or resumes the import. Null when it has ended. */
async function open({ sql, property }: Context, jobId: string): Promise<ImportJob | null> {
  const [row] = await sql<ImportJob[]>`
    with clock as materialized (select now() as moment)
    update import_jobs set status = 'processing', started_at = coalesce(started_at, moment), updated_at = moment
    from clock
    where property_id = ${property.id} and id = ${jobId} and status in (${literals(OPEN_JOBS)})
    returning id, upload_id, params, processed, actor_type, actor_id`;
  return row ?? null;
}

/** Reads the next batch while the database writes the previous one. */
async function run(context: JobContext, importJob: ImportJob): Promise<void> {
  const file = () => uploaded(context, importJob.upload_id);
  const found = await survey(file(), importJob.params);
  checkLength(found.rows);
  const about = await context.transact(async (inner) => {
    const [row] = await inner.sql<{ now: number; tiers: string[] }[]>`
      with counted as (
        update import_jobs set total = greatest(${found.rows}::int, processed), updated_at = now()
        where property_id = ${inner.property.id} and id = ${importJob.id}
        returning 1)
      select extract(epoch from now())::double precision * 1000 as now,
        (select tiers from properties where id = ${inner.property.id}) as tiers
      from counted`;
    const { now, tiers } = row!;
    return { property: inner.property, customs: await customFields(inner), now, known: tiers };
  });
  const most = Math.max(FEWEST_RECORDS, Math.floor(BATCH_RECORDS / context.attempt));
  const read = fileReader(importJob, about, found, most);
  const hasGrown = growthWatch();
  let writing: Promise<boolean> = Promise.resolve(true);
  try {
    for await (const { layout, batch } of read(records(file(), found))) {
      if (!(await writing)) return;
      context.signal.throwIfAborted();
      const staged = Promise.withResolvers<void>();
      const next = { ...batch, analyze: hasGrown(batch), onStaged: staged.resolve };
      writing = transactAgain(context, (inner) => writeBatch(inner, importJob, layout, next)).finally(
        staged.resolve,
      );
      // Awaited at the next batch; until then a failure is not unhandled.
      writing.catch(() => {});
      // Reading on at once would delay the database, which needs the rows of this batch.
      await staged.promise;
    }
  } finally {
    await writing.catch(() => {});
  }
  if (await writing) await complete(context, importJob, read);
}

function checkLength(rows: number): void {
  if (rows <= MOST_ROWS) return;
  throw new Fault("too_large", { message: `The file has more than ${MOST_ROWS} rows. Split it.` });
}

/** The batches that are not written yet. Written ones are read again for their identities. */
function fileReader(
  importJob: ImportJob,
  about: Pick<RowRules, "property" | "customs" | "now"> & { known: readonly string[] },
  found: Survey,
  most: number,
) {
  const { params, processed } = importJob;
  const { known, ...rules } = about;
  const { customs } = rules;
  let layout: Layout | null = null;
  let decimal: ReturnType<typeof decimalOf> = "unknown";
  const tiers = new Map<string, number>();
  const unrecorded = { no_evidence: 0, no_date: 0 };
  const lost = { no_identifier: 0, too_many_cells: 0 };
  const summary = () => summarized(importJob, found, { layout, decimal, unrecorded, lost, tiers, known });
  async function* batches(
    file: AsyncIterable<string[]>,
  ): AsyncGenerator<{ layout: Layout; batch: RowBatch }> {
    const seen = seenIdentities();
    let readRow: ReturnType<typeof rowReader> | null = null;
    let batch = emptyBatch(0, customs);
    let row = 0;
    let characters = 0;
    for await (const cells of file) {
      if (!layout || !readRow) {
        const header = params.has_header ? cells : cells.map((_cell, index) => String(index + 1));
        layout = layoutOf(header, params, customs);
        decimal = decimalOf(found, params, layout, customs);
        readRow = rowReader({ layout, params, seen, unrecorded, lost, tiers, decimal, ...rules });
        if (params.has_header) continue;
      }
      checkLength(++row);
      const result = readRow(cells, row);
      if (row <= processed) {
        batch.after = row;
        continue;
      }
      batch.records++;
      if (Array.isArray(result)) batch.refusals.push(...result);
      else batch.rows.push(result);
      for (const cell of cells) characters += cell.length;
      if (batch.records < most && characters < BATCH_CHARACTERS) continue;
      batch.summary = summary();
      yield { layout, batch };
      batch = emptyBatch(row, customs);
      characters = 0;
    }
    if (!layout || batch.records === 0) return;
    batch.summary = summary();
    yield { layout, batch };
  }
  return Object.assign(batches, { layout: () => layout, summary });
}

function emptyBatch(after: number, customs: CustomFields): RowBatch {
  const none = { summary: () => ({}), onStaged: () => {} };
  return { after, records: 0, rows: [], refusals: [], customs, analyze: false, ...none };
}

/** The facts of an import's file so far. */
interface Known {
  layout: Layout | null;
  decimal: ReturnType<typeof decimalOf>;
  unrecorded: Pick<Unrecorded, "no_evidence" | "no_date">;
  lost: Omit<LostRefusals, "no_address">;
  tiers: ReadonlyMap<string, number>;
  /** The tiers of the property. */
  known: readonly string[];
}

/** Makes the summary of what is known now; the database has made the tally. */
function summarized({ params }: ImportJob, found: Survey, now: Known) {
  const { layout, decimal, known } = now;
  const [unrecorded, lost] = [{ ...now.unrecorded }, { ...now.lost }];
  const tiers = tierWarnings(now.tiers, known);
  return ({ no_address, row_skipped, unbarred, taken }: Tally) => {
    const notRecorded = { ...unrecorded, no_address, row_skipped };
    const refusals = { ...lost, no_address: unbarred };
    return {
      delimiter: found.delimiter,
      encoding: found.encoding,
      decimal: decimal === "unknown" ? null : decimal.slice(-1),
      columns: layout?.header ?? [],
      ignored_columns: layout?.ignored ?? [],
      missing_columns: [...(layout?.missing.keys() ?? [])],
      consents_not_recorded: notRecorded,
      refusals_not_recorded: refusals,
      taken_addresses: taken,
      warnings: [
        ...(layout ? columnWarnings(layout) : []),
        ...peopleWarnings(refusals, taken),
        ...warningsOf(notRecorded),
        ...tiers,
      ],
      dry_run: params.dry_run,
    };
  };
}

/** Says when the table needs new statistics: at the first batch, after it, and at each fourfold growth. */
function growthWatch(): (batch: RowBatch) => boolean {
  let next = 0;
  let written = 0;
  return ({ records: count }) => {
    const hasGrown = written >= next;
    if (hasGrown) next = written * 4 || 1;
    written += count;
    return hasGrown;
  };
}

async function complete(
  context: JobContext,
  importJob: ImportJob,
  read: Pick<ReturnType<typeof fileReader>, "layout" | "summary">,
): Promise<void> {
  const layout = read.layout();
  await context.transact(async (inner) => {
    const { sql, property } = inner;
    const [tally] = await sql<Tally[]>`
      select ${TALLY} from import_jobs
      where property_id = ${property.id} and id = ${importJob.id}`;
    if (!tally) return;
    const summary = read.summary()(tally);
    if (!(await endJob(inner, importJobs, importJob.id, { summary }))) return;
    if (layout) await writeErrors(inner, importJob.id, layout, columnErrors(layout));
    // The file of a dry run stays for the import itself, until the sweep.
    if (!importJob.params.dry_run) await dropUpload(sql, property.id, importJob.upload_id);
  });
}

/** Errors about columns are errors of the file, not of a row. */
function columnErrors({ missing, unknown }: Layout): Refusal[] {
  const error = (column: string, message: string): Refusal => ({
    row: 0,
    column,
    code: "unknown_field",
    message,
    value: null,
    cells: [],
  });
  return [
    ...Array.from(missing.keys(), (column) =>
      error(column, "The mapping names this column, and the file does not have it."),
    ),
    ...unknown.map((column) =>
      error(
        column,
        "The property has no such custom field. create_custom_field makes one; then import again.",
      ),
    ),
  ];
}
