import { z } from "zod";
import { type Fragment, join, sql } from "#db/sql.ts";
import { cellSql, csvLine, safeCellSql } from "#db/stream/csv.ts";
import { file } from "#runtime/operation/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import importJobs from "./import-jobs.table.ts";

const CELLS: Record<string, Fragment> = {
  row: sql`row`,
  column: safeCellSql(sql`"column"`),
  code: sql`code`,
  message: safeCellSql(sql`message`),
  value: safeCellSql(sql`value`),
  original_row: cellSql(sql`original_row`, "jsonb"),
};

export default file({
  name: "export_import_errors",
  title: "Download an import's refused rows",
  description:
    "Writes the refused rows of an import into a file: the column, the reason and the original row.",
  contentType: "text/csv; charset=utf-8",
  input: { id: z.uuid().describe("The import job's id, from list_import_jobs") },
  faults: ["invalid", "not_found"],
  async handler(context, { id }) {
    const { sql: transaction, property, call, audit } = context;
    await checkJob(context, importJobs, id);
    audit({ entity: "import_jobs", entityId: id });
    const [counted] =
      call.transport === "mcp"
        ? await transaction<{ rows: number }[]>`
            select count(*)::int as rows from import_errors where property_id = ${property.id} and job_id = ${id}`
        : [];
    return {
      rows: counted?.rows,
      filename: `import-errors-${id}.csv`,
      source: async function* (copy) {
        yield Buffer.from(csvLine(Object.keys(CELLS)));
        yield* copy(sql`select ${join(Object.values(CELLS))} from import_errors
          where property_id = ${property.id}::uuid and job_id = ${id}::uuid
          order by row, seq`);
      },
    };
  },
});
