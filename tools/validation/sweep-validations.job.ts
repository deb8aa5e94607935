import { z } from "zod";
import { job } from "#runtime/operation/job.ts";
import { failAbandoned } from "#tools/jobs/async-job.ts";
import { ValidateEmails } from "./validation-job.ts";
import validationJobs from "./validation-jobs.table.ts";

/** Fails abandoned validations, and removes results after 30 days. */
export default job({
  name: "sweep_validations",
  attempts: 3,
  every: "*/5 * * * *",
  input: z.object({}),
  async handler({ transactSystem }) {
    await transactSystem(async (sql) => {
      await failAbandoned(sql, validationJobs, ValidateEmails);
      await sql`
        delete from validation_results r using validation_jobs j
        where j.property_id = r.property_id and j.id = r.job_id and j.expires_at < now()`;
    });
  },
});
