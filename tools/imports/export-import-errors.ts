import { z } from "zod";
import { cellSql, csvLine, safeCellSql } from "#db/csv.ts";
import { literal } from "#db/flow.ts";
import { file } from "#runtime/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import importJobs from "./import-jobs.table.ts";

const CELLS: Record<string, string> = {
  row: "row",
  column: safeCellSql('"column"'),
  code: "code",
  message: safeCellSql("message"),
  value: safeCellSql("value"),
  original_row: cellSql("original_row", "jsonb"),
};

export default file({
  name: "export_import_errors",
  title: "Download an import's refused rows",
  description:
    "Writes why rows of an import failed into a file: the column, the reason and the row as it was given.",
  contentType: "text/csv; charset=utf-8",
  input: { id: z.uuid().describe("The import job's id, from list_import_jobs") },
  faults: ["invalid", "not_found"],
  async handler(context, { id }) {
    const { property, audit } = context;
    await checkJob(context, importJobs, id);
    audit({ entity: "import_jobs", entityId: id });
    return {
      filename: `import-errors-${id}.csv`,
      source: async function* (_sql, copy) {
        yield Buffer.from(csvLine(Object.keys(CELLS)));
        yield* copy(`select ${Object.values(CELLS).join(", ")} from import_errors
          where property_id = ${literal(property.id)}::uuid and job_id = ${literal(id)}::uuid
          order by row, seq`);
      },
    };
  },
});
