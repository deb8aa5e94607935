import type { Context } from "#runtime/operation/context.ts";
import { endJob } from "#tools/jobs/async-job.ts";
import importJobs from "./import-jobs.table.ts";

/** Ends an import as failed and removes its upload. False when it had ended before. */
export async function failImport(context: Context, jobId: string, error: string): Promise<boolean> {
  if (!(await endJob(context, importJobs, jobId, { error }))) return false;
  const { sql, property } = context;
  await sql`
    delete from uploads u using import_jobs j
    where u.property_id = ${property.id} and j.property_id = ${property.id} and j.id = ${jobId} and u.id = j.upload_id`;
  return true;
}
