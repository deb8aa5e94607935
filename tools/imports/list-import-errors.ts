import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import { pageOf, paging, positionIn } from "#tools/jobs/positions.ts";
import exportImportErrors from "./export-import-errors.ts";
import importJobs from "./import-jobs.table.ts";
import { ErrorGroupView, RowErrorView } from "./job/row-error.ts";

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
    group: z
      .boolean()
      .default(false)
      .describe("Answers the errors by column and reason, with counts and examples, the most frequent first"),
    ...paging,
  },
  output: z.array(z.union([RowErrorView, ErrorGroupView])),
  faults: ["invalid", "not_found"],
  async handler(context, { id, group, limit, offset, cursor, count }) {
    const { sql, property } = context;
    if (group) {
      await checkJob(context, importJobs, id);
      return groupsOf(context, id, limit);
    }
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

const SHOWN = 3;

/** At most one group for each column and reason, so they are not paged. */
async function groupsOf({ sql, property }: Tenant, id: string, limit: number): Promise<ErrorGroupView[]> {
  const groups = await sql<ErrorGroupView[]>`
    select "column", code, count(*)::int as count, (array_agg(message order by row, seq))[1] as message,
      (array_agg(row order by row, seq))[1:${SHOWN}::int] as first_rows,
      coalesce((array_agg(value order by row, seq) filter (where value is not null))[1:${SHOWN}::int], '{}') as examples
    from import_errors
    where property_id = ${property.id} and job_id = ${id}
    group by "column", code
    order by count desc, min(row), min(seq), "column" limit ${limit}`;
  return groups.map((group) => ({ ...group, examples: [...new Set(group.examples)] }));
}
