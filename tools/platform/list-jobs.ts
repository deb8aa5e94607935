import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";

const JobView = z.object({
  id: z.uuid(),
  name: z.string(),
  property_id: z.uuid().nullable(),
  state: z.enum(["ready", "running", "dead"]),
  run_at: timestamp().describe("When it is due; of a dead job, when it would have been tried again"),
  attempts: z.int(),
  max_attempts: z.int(),
  last_error: z.string().nullable(),
  created_at: timestamp(),
});

export default tool({
  name: "list_jobs",
  title: "List background jobs",
  description:
    "Lists jobs of the queue, newest first: those that failed for good, unless told otherwise. Retry one with retry_job. Dead jobs are kept for 30 days.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: {
    state: z
      .enum(["dead", "ready", "running"])
      .default("dead")
      .describe("dead: failed for good; ready: due, or waiting for its time"),
    name: z.string().optional().describe("The job's name, such as plan_campaign"),
    property_id: z.uuid().optional().describe("Only jobs of this property"),
    before: z.uuid().optional().describe("For the next page: the id of the last row of this one"),
    limit: z.int().min(1).max(1000).default(50).describe("Rows to return"),
  },
  output: z.object({ jobs: z.array(JobView) }),
  faults: ["invalid"],
  async handler({ sql }, { state, name, property_id, before, limit }) {
    const jobs = await sql<z.output<typeof JobView>[]>`
      select id, name, property_id, state, run_at, attempts, max_attempts, last_error, created_at
      from queue
      where state = ${state} ${name === undefined ? sql`` : sql`and name = ${name}`}
        ${property_id === undefined ? sql`` : sql`and property_id = ${property_id}`}
        ${before === undefined ? sql`` : sql`and id < ${before}`}
      order by id desc limit ${limit}`;
    return { jobs: [...jobs] };
  },
});
