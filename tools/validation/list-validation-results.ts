import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { checkJob } from "#tools/jobs/async-job.ts";
import { pageOf, paging, positionIn } from "#tools/jobs/positions.ts";
import exportValidationResults from "./export-validation-results.ts";
import validationJobs from "./validation-jobs.table.ts";
import { Checks, REASONS, RESULTS, RISKS } from "./verdict.ts";

const ResultView = z.object({
  email: z.string(),
  player_id: z.uuid().nullable().describe("A player who has the address"),
  result: z.enum(RESULTS),
  risk: z.enum(RISKS),
  reasons: z.array(z.enum(REASONS)),
  checks: Checks,
  did_you_mean: z.string().nullable(),
});

export default tool({
  name: "list_validation_results",
  title: "List a validation's results",
  description:
    "Lists the results of a validation job by address: the result, the risk, the reasons and each check. Addresses that are not checked yet are missing.",
  scope: "read",
  effect: "read",
  beneath: { table: validationJobs, name: "results", csv: exportValidationResults },
  input: {
    id: z.uuid().describe("The validation job's id, from list_validation_jobs"),
    result: z.enum(RESULTS).optional().describe("Only addresses with this result"),
    ...paging,
  },
  output: z.array(ResultView),
  faults: ["invalid", "not_found"],
  async handler(context, { id, result, limit, offset, cursor, count }) {
    const { sql, property } = context;
    const after = positionIn(cursor, offset, 1);
    const fitting = sql`property_id = ${property.id} and job_id = ${id}
      and ${result ? sql`result = ${result}` : sql`result is not null`}`;
    const rows = await sql<(z.output<typeof ResultView> & { seq: number })[]>`
      select email, player_id, result, risk, reasons, checks, did_you_mean, seq from validation_results
      where ${fitting} ${after ? sql`and seq > ${after[0]!}` : sql``}
      order by seq limit ${limit + 1} offset ${offset}`;
    if (rows.length === 0) await checkJob(context, validationJobs, id);
    if (count) {
      const [all] = await sql<{ count: number }[]>`
        select count(*)::int as count from validation_results where ${fitting}`;
      context.counted?.(all!.count);
    }
    const page = pageOf(context, rows, limit, ({ seq }) => [seq]);
    return page.map(({ seq: _, ...result }) => result);
  },
});
