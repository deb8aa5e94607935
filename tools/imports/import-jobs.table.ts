import { z } from "zod";
import { readable } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";
import { asyncJobColumns } from "#tools/jobs/async-job.ts";

export default table({
  name: "import_jobs",
  noun: "import_job",
  concise: [
    "type",
    "status",
    "total",
    "processed",
    "succeeded",
    "failed",
    "error",
    "status_url",
    "errors_url",
    "created_at",
    "completed_at",
  ],
  description:
    "An import job brings players in from a CSV file, in the background. Poll it until status is completed or failed; list_import_errors says which rows were refused, and why.",
  verbs: ["list", "get", "create", "delete"],
  own: ["create", "delete"],
  core: ["get"],
  columns: {
    ...asyncJobColumns("player_import"),
    summary: readable(
      z
        .record(z.string(), z.unknown())
        .nullable()
        .describe(
          "When it is completed: how the file was read, and what of it was not. consents_not_recorded counts each yes in a consent column that was passed over, by the reason: no_evidence (the import has no consent block) or no_address (the row has none for that channel). warnings says so in words",
        ),
    ),
    created_count: readable(z.int()),
    errors_url: readable(z.string().describe("The rows that were refused, as JSON or with ?format=csv")),
    upload_id: readable(
      z
        .uuid()
        .nullable()
        .describe("Of a completed dry run: create_import_job imports its file by this, up to 24 hours later"),
      "case when status = 'completed' and (params ->> 'dry_run')::boolean then upload_id end",
    ),
    result_url: readable(
      z.string().describe("The players whose last import it was"),
      "replace(status_url, '/api/import_jobs/', '/api/players?import_job_id.eq=')",
    ),
  },
});
