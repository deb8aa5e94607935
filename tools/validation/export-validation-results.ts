import { z } from "zod";
import { type Fragment, join, raw, sql } from "#db/sql.ts";
import { cellSql, csvLine, safeCellSql } from "#db/stream/csv.ts";
import { file } from "#runtime/operation/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import validationJobs from "./validation-jobs.table.ts";
import { Checks, RESULTS } from "./verdict.ts";

const CELLS: Record<string, Fragment> = {
  email: safeCellSql(sql`email`),
  player_id: sql`player_id::text`,
  result: sql`result`,
  risk: sql`risk`,
  reasons: cellSql(sql`reasons`, "text[]"),
  did_you_mean: safeCellSql(sql`did_you_mean`),
  ...Object.fromEntries(Object.keys(Checks.shape).map((name) => [name, raw(`checks ->> '${name}'`)])),
};

export default file({
  name: "export_validation_results",
  title: "Download a validation's results",
  description: "Writes the results of a validation job into a file: a row each address, a column each check.",
  contentType: "text/csv; charset=utf-8",
  input: {
    id: z.uuid().describe("The validation job's id, from list_validation_jobs"),
    result: z.enum(RESULTS).optional().describe("Only addresses with this result"),
  },
  faults: ["invalid", "not_found"],
  async handler(context, { id, result }) {
    const { sql: transaction, property, call, audit } = context;
    await checkJob(context, validationJobs, id);
    audit({ entity: "validation_jobs", entityId: id });
    const [counted] =
      call.transport === "mcp"
        ? await transaction<{ rows: number }[]>`
            select count(*)::int as rows from validation_results
            where property_id = ${property.id} and job_id = ${id}
              and result ${result ? sql`= ${result}` : sql`is not null`}`
        : [];
    return {
      rows: counted?.rows,
      filename: `validation-${id}.csv`,
      source: async function* (copy) {
        yield Buffer.from(csvLine(Object.keys(CELLS)));
        yield* copy(sql`select ${join(Object.values(CELLS))} from validation_results
          where property_id = ${property.id}::uuid and job_id = ${id}::uuid
            and result ${result ? sql`= ${result}::text` : sql`is not null`}
          order by seq`);
      },
    };
  },
});
