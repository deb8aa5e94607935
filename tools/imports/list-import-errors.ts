import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import { pageOf, paging, positionIn } from "#tools/jobs/positions.ts";
import exportImportErrors from "./export-import-errors.ts";
import importJobs from "./import-jobs.table.ts";
import { RowErrorView } from "./job/row-error.ts";

export default tool({
  name: "list_import_errors",
  title: "List an import's refused rows",
  description:
    "Lists the errors of an import: for each refused row the column, the reason and the original row. Nothing of a refused row is imported, except a refusal of a channel if the row identifies the player.",
  scope: "read",
  effect: "read",
  beneath: { table: importJobs, name: "errors", csv: exportImportErrors },
  input: {
    id: z.uuid().describe("The import job's id, from list_import_jobs"),
    ...paging,
  },
  output: z.array(RowErrorView),
  faults: ["invalid", "not_found"],
  async handler(context, { id, limit, offset, cursor, count }) {
    const { sql, property } = context;
    const after = positionIn(cursor, offset, 2);
    const rows = await sql<(RowErrorView & { seq: number })[]>`
      select row, "column", code, message, value, original_row, seq from import_errors
      where property_id = ${property.id} and job_id = ${id}
        ${after ? sql`and (row, seq) > (${after[0]!}, ${after[1]!})` : sql``}
      order by row, seq limit ${limit + 1} offset ${offset}`;
    if (rows.length === 0) await checkJob(context, importJobs, id);
    if (count) {
      const [all] = await sql<{ count: number }[]>`
        select count(*)::int as count from import_errors where property_id = ${property.id} and job_id = ${id}`;
      context.counted?.(all!.count);
    }
    const page = pageOf(context, rows, limit, ({ row, seq }) => [row, seq]);
    return page.map(({ seq: _, ...error }) => error);
  },
});
