import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import importJobs from "./import-jobs.table.ts";

/** Why a row was refused. `self_excluded` alone is a notice: the row came in, with that status. */
const ROW_ERRORS = [
  "invalid_email",
  "invalid_phone",
  "duplicate_in_file",
  "missing_identifier",
  "unknown_field",
  "type_mismatch",
  "erased",
  "self_excluded",
  "conflict",
] as const;

export const RowErrorView = z.object({
  row: z.int().describe("1 is the first record after the header; 0 is the file itself"),
  column: z.string().nullable(),
  code: z.enum(ROW_ERRORS),
  message: z.string(),
  value: z.string().nullable(),
  original_row: z.record(z.string(), z.unknown()).nullable(),
});
export type RowErrorView = z.output<typeof RowErrorView>;

export default tool({
  name: "list_import_errors",
  title: "List an import's refused rows",
  description:
    "Lists why rows of an import failed: the column, the reason and the row as it was given. A refused row is refused whole: nothing of it is imported.",
  scope: "read",
  effect: "read",
  input: {
    id: z.uuid().describe("The import job's id, from list_import_jobs"),
    limit: z.coerce.number().int().min(1).max(1000).default(50),
    offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
  },
  output: z.array(RowErrorView),
  faults: ["invalid", "not_found"],
  async handler(context, { id, limit, offset }) {
    const { sql, property } = context;
    const rows = await sql<RowErrorView[]>`
      select row, "column", code, message, value, original_row from import_errors
      where property_id = ${property.id} and job_id = ${id}
      order by row, seq limit ${limit} offset ${offset}`;
    if (rows.length === 0) await checkJob(context, importJobs, id);
    return [...rows];
  },
});
