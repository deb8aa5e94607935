import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { cancelJob } from "#tools/jobs/async-job.ts";
import { failImport } from "./fail-import.ts";
import importJobs from "./import-jobs.table.ts";

export default tool({
  name: "delete_import_job",
  title: "Cancel an import",
  description:
    'Cancels an import that is queued or processing: its status becomes failed with the error "cancelled". Rows that are in already stay.',
  scope: "write",
  effect: "destroy",
  input: { id: z.uuid().describe("From list_import_jobs") },
  output: z.object({ success: z.literal(true) }),
  faults: ["not_found", "conflict"],
  crud: { table: importJobs, verb: "delete" },
  handler: (context, { id }) => cancelJob(context, importJobs, id, (error) => failImport(context, id, error)),
});
