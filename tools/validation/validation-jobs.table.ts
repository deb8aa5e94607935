import { z } from "zod";
import { readable } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { asyncJobColumns } from "#tools/jobs/async-job.ts";

export default table({
  name: "validation_jobs",
  noun: "validation_job",
  description:
    "A validation job checks email addresses in the background. Poll it until it has ended; list_validation_results shows the results.",
  verbs: ["list", "get", "create", "delete"],
  own: ["create", "delete"],
  core: ["get"],
  columns: {
    ...asyncJobColumns("email_validation"),
    result_url: readable(z.string().describe("The result of each address, as JSON or with ?format=csv"), {
      concise: true,
    }),
  },
});
