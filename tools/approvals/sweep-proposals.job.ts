import { z } from "zod";
import { enqueue } from "#runtime/jobs/queue.ts";
import { job } from "#runtime/operation/job.ts";
import checkProposals from "./check-proposals.job.ts";

/** Has the waiting proposals of all properties checked: an audience grows, and a planned time passes, without a call. */
export default job({
  name: "sweep_proposals",
  attempts: 3,
  every: "*/5 * * * *",
  input: z.object({}),
  handler: ({ transactSystem }) =>
    transactSystem(async (sql) => {
      const properties = await sql<{ id: string }[]>`
        select distinct property_id as id from proposals where status = 'waiting'`;
      for (const { id } of properties) {
        await enqueue(sql, checkProposals, {}, { propertyId: id, dedupe: id });
      }
    }),
});
