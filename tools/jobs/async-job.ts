import { z } from "zod";
import { errorCode } from "#db/connection/error-code.ts";
import type { Sql } from "#db/database.ts";
import { identifier, literals } from "#db/sql.ts";
import { Fault, one } from "#runtime/faults.ts";
import { columnNames, forEvents, readable, timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import { words } from "#runtime/operation/rows.ts";
import type { Row, Table } from "#runtime/operation/table.ts";

/** The statuses of a job that has not ended. */
export const OPEN_JOBS = ["queued", "processing"] as const;
export const JOB_STATUSES = [...OPEN_JOBS, "completed", "failed"] as const;

/** The columns of a table of jobs: the specification's AsyncJob, and the columns that all our jobs add. */
export function asyncJobColumns(type: string) {
  return {
    status: readable(z.enum(JOB_STATUSES), { concise: true }),
    type: readable(z.literal(type), { concise: true }),
    total: readable(z.int().nullable(), { concise: true }),
    processed: readable(z.int().nullable(), { concise: true }),
    status_url: readable(z.string().describe("Poll it until status is completed or failed"), {
      concise: true,
    }),
    succeeded: readable(z.int(), { concise: true }),
    failed: readable(z.int(), { concise: true }),
    skipped: readable(z.int()),
    updated_count: readable(z.int()),
    error: readable(z.string().nullable(), { concise: true }),
    summary: readable(z.record(z.string(), z.unknown()).nullable(), { omitFromEvents: true }),
    params: readable(z.record(z.string(), z.unknown()), { omitFromEvents: true }),
    started_at: readable(timestamp().nullable()),
    completed_at: readable(timestamp().nullable(), { concise: true }),
    expires_at: readable(timestamp().nullable().describe("Until then the results of the job can be read")),
  };
}

/** The address for polling a job. */
export function statusUrl({ config }: Pick<Context, "config">, table: Table, id: string): string {
  return `${config.baseUrl}/api/${table.name}/${id}`;
}

/** Ends a job and emits its event. Null when the job had already ended. */
export async function endJob(
  { sql, property, emit }: Context,
  table: Table,
  id: string,
  end: { error: string } | { summary: object },
): Promise<Row | null> {
  const outcome =
    "error" in end
      ? sql`status = 'failed', error = ${end.error}`
      : sql`status = 'completed', total = processed, summary = ${end.summary}`;
  const [row] = await sql<{ job: Row }[]>`
    with j as (
      update ${identifier(table.name)} set ${outcome}, completed_at = now(), updated_at = now()
      where property_id = ${property.id} and id = ${id} and status in (${literals(OPEN_JOBS)})
      returning *)
    select row_to_json(v) as job from (select ${columnNames(table)} from j) v`;
  if (!row) return null;
  emit("error" in end ? "job.failed" : "job.completed", forEvents(table.columns, row.job));
  return row.job;
}

/** Cancels a job by `fail`, which returns whether it was still open. Throws `not_found` and `conflict`. */
export async function cancelJob(
  { sql, property, audit }: Context,
  table: Table,
  id: string,
  fail: (error: string) => Promise<boolean>,
): Promise<{ success: true }> {
  audit({ entityId: id });
  if (await fail("cancelled")) return { success: true };
  const jobs = await sql<{ status: string; error: string | null }[]>`
    select status, error from ${identifier(table.name)} where property_id = ${property.id} and id = ${id}`;
  const job = one(jobs, words(table.noun), id);
  if (job.error === "cancelled") return { success: true };
  throw new Fault("conflict", { message: `The job is already ${job.status}, so it cannot be cancelled.` });
}

/** Throws `not_found` unless the property has the job. */
export async function checkJob({ sql, property }: Context, table: Table, id: string): Promise<void> {
  const jobs =
    await sql`select from ${identifier(table.name)} where property_id = ${property.id} and id = ${id}`;
  one(jobs, words(table.noun), id);
}

const TRIES = 5;
// Another writer's row or lock interfered: the next try finds it.
const PASSING = new Set(["23505", "40001", "40P01", "55P03"]);

/** Runs a job's transaction, and tries again when another writer interfered. */
export async function transactAgain<T>(
  context: JobContext,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await context.transact(work);
    } catch (error) {
      if (tries === TRIES || !PASSING.has(errorCode(error))) throw error;
    }
  }
}

/** Fails the jobs of every property whose row on the queue is gone. As the system. */
export async function failAbandoned(sql: Sql, table: Table, work: { name: string }): Promise<void> {
  const isOpen = sql`status in (${literals(OPEN_JOBS)}) and updated_at < now() - interval '1 minute'`;
  const open = await sql<{ property_id: string; id: string }[]>`
    select property_id, id from ${identifier(table.name)} where ${isOpen}`;
  if (open.length === 0) return;
  // Read after the jobs: a job ends before its row leaves the queue, and the update below then skips it.
  const queued = await sql<{ id: string }[]>`
    select input ->> 'jobId' as id from queue
    where name = ${work.name} and state <> 'dead' and input ->> 'jobId' = any(${open.map(({ id }) => id)}::text[])`;
  const alive = new Set(queued.map(({ id }) => id));
  for (const { property_id, id } of open.filter((one) => !alive.has(one.id))) {
    await sql`
      update ${identifier(table.name)} set status = 'failed', error = 'The job was given up after too many failed tries.',
        completed_at = now(), updated_at = now()
      where property_id = ${property_id} and id = ${id} and ${isOpen}`;
  }
}
