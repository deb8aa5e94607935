import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { quoted } from "#runtime/visible-text.ts";

const MOST_ERROR = 300;

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
  async handler({ sql, ask, audit }, { jobId }) {
    const [job] = await sql<Found[]>`
      select name, state, is_impersonal, last_error,
        (select slug from properties p where p.id = q.property_id) as property
      from queue q where id = ${jobId} for update`;
    if (!job)
      throw new Fault("not_found", {
        message: `No job with the id ${jobId}. list_jobs has those that failed.`,
      });
    const { name, state, is_impersonal } = job;
    if (state !== "dead") throw new Fault("conflict", { message: `The job is ${state}, and not dead.` });
    ask?.({ state: jobId, sentences: () => wordsOf(job) });
    await sql`
      with retried as (
        update queue set state = 'ready', attempts = 0, interruptions = 0, run_at = now() where id = ${jobId} returning 1
      )
      select pg_notify('queue', '') from retried`;
    audit({ entity: "queue", entityId: jobId });
    return { success: true as const, name, without_persons: is_impersonal };
  },
});

function wordsOf({ name, property, last_error }: Found): string[] {
  const whose = property === null ? "the service" : `the property ${quoted(property)}`;
  const why = last_error === null ? "" : `: ${quoted(last_error, MOST_ERROR)}`;
  return [
    `The job ${quoted(name)} of ${whose} runs again now, and may send messages. It failed for good${why}.`,
  ];
}

interface Found {
  name: string;
  /** Its slug. */
  property: string | null;
  last_error: string | null;
  state: "ready" | "running" | "dead";
  is_impersonal: boolean;
}
