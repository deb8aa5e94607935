import { z } from "zod";
import { literals } from "#db/sql.ts";
import { job } from "#runtime/operation/job.ts";
import { failAbandoned, OPEN_JOBS } from "#tools/jobs/async-job.ts";
import importJobs from "./import-jobs.table.ts";
import { ImportPlayers } from "./job/import-job.ts";

/** Removes files without an import after a day, and refused rows after 30 days. */
export default job({
  name: "sweep_imports",
  attempts: 3,
  every: "*/5 * * * *",
  input: z.object({}),
  async handler({ transactSystem }) {
    await transactSystem(async (sql) => {
      await failAbandoned(sql, importJobs, ImportPlayers);
      await sql`
        delete from uploads u
        where u.created_at < now() - interval '24 hours' and not exists (
          select from import_jobs j
          where j.property_id = u.property_id and j.upload_id = u.id and j.status in (${literals(OPEN_JOBS)}))`;
      await sql`
        delete from import_errors e using import_jobs j
        where j.property_id = e.property_id and j.id = e.job_id and j.expires_at < now()`;
    });
  },
});
