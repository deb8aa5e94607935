import { z } from "zod";
import { cellSql, csvLine, safeCellSql } from "#db/csv.ts";
import { literal } from "#db/flow.ts";
import { file } from "#runtime/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import validationJobs from "./validation-jobs.table.ts";
import { Checks, RESULTS } from "./verdict.ts";

const CELLS: Record<string, string> = {
  email: safeCellSql("email"),
  player_id: "player_id::text",
  result: "result",
  risk: "risk",
  reasons: cellSql("reasons", "text[]"),
  did_you_mean: safeCellSql("did_you_mean"),
  ...Object.fromEntries(Object.keys(Checks.shape).map((name) => [name, `checks ->> '${name}'`])),
};

export default file({
  name: "export_validation_results",
  title: "Download a validation's results",
  description: "Writes what a validation job found out about each address into a file, a column each check.",
  contentType: "text/csv; charset=utf-8",
  input: {
    id: z.uuid().describe("The validation job's id, from list_validation_jobs"),
    result: z.enum(RESULTS).optional().describe("Only addresses with this result"),
  },
  faults: ["invalid", "not_found"],
  async handler(context, { id, result }) {
    const { property, audit } = context;
    await checkJob(context, validationJobs, id);
    audit({ entity: "validation_jobs", entityId: id });
    return {
      filename: `validation-${id}.csv`,
      source: async function* (_sql, copy) {
        yield Buffer.from(csvLine(Object.keys(CELLS)));
        yield* copy(`select ${Object.values(CELLS).join(", ")} from validation_results
          where property_id = ${literal(property.id)}::uuid and job_id = ${literal(id)}::uuid
            and result ${result ? `= ${literal(result)}` : "is not null"}
          order by seq`);
      },
    };
  },
});
