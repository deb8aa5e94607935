import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";

export default tool({
  name: "retry_job",
  title: "Retry a job that failed for good",
  description:
    "Puts a dead job back on the queue, to run now with all its attempts. It does what it would have done: it may send messages.",
  scope: "write",
  effect: "contact",
  access: "operator",
  realm: "system",
  input: { jobId: z.uuid().describe("From list_jobs") },
  output: z.object({
    success: z.literal(true),
    name: z.string(),
    without_persons: z
      .boolean()
      .describe(
        "Addresses and texts were removed when it failed: it finds records by their ids alone, or fails again",
      ),
  }),
  faults: ["not_found", "conflict"],
  async handler({ sql, audit }, { jobId }) {
    const [job] = await sql<Found[]>`
      select name, state, is_impersonal from queue where id = ${jobId} for update`;
    if (!job)
      throw new Fault("not_found", {
        message: `No job with the id ${jobId}. list_jobs has those that failed.`,
      });
    const { name, state, is_impersonal } = job;
    if (state !== "dead") throw new Fault("conflict", { message: `The job is ${state}, and not dead.` });
    await sql`
      with retried as (
        update queue set state = 'ready', attempts = 0, interruptions = 0, run_at = now() where id = ${jobId} returning 1
      )
      select pg_notify('queue', '') from retried`;
    audit({ entity: "queue", entityId: jobId });
    return { success: true as const, name, without_persons: is_impersonal };
  },
});

interface Found {
  name: string;
  state: "ready" | "running" | "dead";
  is_impersonal: boolean;
}
