import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { cancelJob, endJob } from "#tools/jobs/async-job.ts";
import validationJobs from "./validation-jobs.table.ts";

export default tool({
  name: "delete_validation_job",
  title: "Cancel a validation",
  description: "Cancels a validation that has not ended. Existing results stay.",
  scope: "write",
  effect: "destroy",
  input: { id: z.uuid().describe("From list_validation_jobs") },
  output: z.object({ success: z.literal(true) }),
  faults: ["not_found", "conflict"],
  crud: { table: validationJobs, verb: "delete" },
  handler: (context, { id }) =>
    cancelJob(
      context,
      validationJobs,
      id,
      async (error) => (await endJob(context, validationJobs, id, { error })) !== null,
    ),
});
