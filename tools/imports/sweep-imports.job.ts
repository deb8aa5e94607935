import { z } from "zod";
import { job } from "#runtime/operation.ts";
import { ImportPlayers } from "./import-job.ts";

/** Removes what imports leave behind: files without an import after a day, refused rows after 30 days. */
export default job({
  name: "sweep_imports",
  attempts: 3,
  every: "*/5 * * * *",
  input: z.object({}),
  async handler({ transactSystem }) {
    await transactSystem(async (sql) => {
      await sql`
        update import_jobs j set status = 'failed', error = 'The import was given up after too many failed tries.',
          completed_at = now(), updated_at = now()
        where j.status in ('queued', 'processing') and j.updated_at < now() - interval '1 minute' and not exists (
          select from queue q
          where q.name = ${ImportPlayers.name} and q.state <> 'dead' and q.input ->> 'jobId' = j.id::text)`;
      await sql`
        delete from uploads u
        where u.created_at < now() - interval '24 hours' and not exists (
          select from import_jobs j
          where j.property_id = u.property_id and j.upload_id = u.id and j.status in ('queued', 'processing'))`;
      await sql`
        delete from import_errors e using import_jobs j
        where j.property_id = e.property_id and j.id = e.job_id and j.expires_at < now()`;
    });
  },
});
