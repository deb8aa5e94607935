import { z } from "zod";
import type { Sql } from "#db/client.ts";
import { errorCode } from "#db/error-code.ts";
import { columnNames, readable, timestamp } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault } from "#runtime/faults.ts";
import type { JobContext, Row, Table } from "#runtime/operation.ts";

export const JOB_STATUSES = ["queued", "processing", "completed", "failed"] as const;

/** The columns of a table of jobs: the specification's AsyncJob, and what every job of ours adds to it. */
export function asyncJobColumns(type: string) {
  return {
    status: readable(z.enum(JOB_STATUSES)),
    type: readable(z.literal(type)),
    total: readable(z.int().nullable()),
    processed: readable(z.int().nullable()),
    status_url: readable(z.string().describe("Poll it until status is completed or failed")),
    succeeded: readable(z.int()),
    failed: readable(z.int()),
    skipped: readable(z.int()),
    updated_count: readable(z.int()),
    error: readable(z.string().nullable()),
    summary: readable(z.record(z.string(), z.unknown()).nullable()),
    params: readable(z.record(z.string(), z.unknown())),
    started_at: readable(timestamp().nullable()),
    completed_at: readable(timestamp().nullable()),
    expires_at: readable(timestamp().nullable().describe("Until then it can be read what the job found")),
  };
}

/** Where a job is polled. */
export function statusUrl({ config }: Pick<Context, "config">, table: Table, id: string): string {
  return `${config.baseUrl}/api/${table.name}/${id}`;
}

/** A job ends, and its endpoints hear of it. Null when it had ended before. */
export async function endJob(
  { sql, property, emit }: Context,
  table: Table,
  id: string,
  end: { error: string } | { summary: object },
): Promise<Row | null> {
  const outcome =
    "error" in end
      ? sql`status = 'failed', error = ${end.error}`
      : sql`status = 'completed', total = processed, summary = ${end.summary as never}`;
  const [row] = await sql<{ job: Row }[]>`
    with j as (
      update ${sql(table.name)} set ${outcome}, completed_at = now(), updated_at = now()
      where property_id = ${property.id} and id = ${id} and status in ('queued', 'processing')
      returning *)
    select row_to_json(v) as job from (select ${sql.unsafe(columnNames(table))} from j) v`;
  if (!row) return null;
  // What an event tells of a job: no data of the people in it.
  const { params: _, summary: __, ...told } = row.job;
  emit("error" in end ? "job.failed" : "job.completed", told);
  return row.job;
}

/** Cancels a job by `fail`, which answers whether it was still open. Throws `not_found` and `conflict`. */
export async function cancelJob(
  { sql, property, audit }: Context,
  table: Table,
  id: string,
  fail: (error: string) => Promise<boolean>,
): Promise<{ success: true }> {
  audit({ entityId: id });
  if (await fail("cancelled")) return { success: true };
  const [job] = await sql<{ status: string; error: string | null }[]>`
    select status, error from ${sql(table.name)} where property_id = ${property.id} and id = ${id}`;
  if (!job) throw noJob(table, id);
  if (job.error === "cancelled") return { success: true };
  throw new Fault("conflict", { message: `The job is ${job.status} already; there is nothing to cancel.` });
}

/** Throws `not_found` unless the property has the job. */
export async function checkJob({ sql, property }: Context, table: Table, id: string): Promise<void> {
  const jobs = await sql`select from ${sql(table.name)} where property_id = ${property.id} and id = ${id}`;
  if (jobs.length === 0) throw noJob(table, id);
}

function noJob(table: Table, id: string): Fault {
  return new Fault("not_found", {
    message: `No ${table.noun.replaceAll("_", " ")} with the id ${id} in this property.`,
  });
}

const TRIES = 5;
// Another writer's row, or lock, came between: the next try finds it.
const PASSING = new Set(["23505", "40001", "40P01", "55P03"]);

/** A job's transaction, tried again when another writer came between. */
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

/** Fails the jobs that nothing works on any more. Over the platform's tables. */
export async function failAbandoned(sql: Sql, table: Table, work: { name: string }): Promise<void> {
  await sql`
    update ${sql(table.name)} j set status = 'failed', error = 'The job was given up after too many failed tries.',
      completed_at = now(), updated_at = now()
    where j.status in ('queued', 'processing') and j.updated_at < now() - interval '1 minute' and not exists (
      select from queue q where q.name = ${work.name} and q.state <> 'dead' and q.input ->> 'jobId' = j.id::text)`;
}
