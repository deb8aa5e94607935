import { z } from "zod";
import { internal, readable } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { asyncJobColumns } from "#tools/jobs/async-job.ts";
import { ACTOR_TYPES } from "./job/import-job.ts";

export default table({
  name: "import_jobs",
  noun: "import_job",
  description:
    "An import job reads players from a CSV file, in the background. Poll it until status is completed or failed. list_import_errors lists the refused rows with their reasons.",
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
          "How the file was read, and the ignored parts of it, for the rows so far. consents_not_recorded counts the ignored consents by reason: no_evidence (the import has no consent block), no_address (the player has no address for the channel, or another one than the row), no_date (occurred_at_column gives none) or row_skipped (mode or on_conflict leaves the player alone). refusals_not_recorded counts the refusals that bar nobody: no_identifier (the row names no player), no_address (it means no player, and has no address of the channel) or too_many_cells. taken_addresses counts the new players with an email or phone that another player has already; a dry run does not see that of two new ones that stand far apart in a large file. warnings explains them in words",
        ),
      { omitFromEvents: true },
    ),
    created_count: readable(z.int()),
    errors_url: readable(z.string().describe("The rows that were refused, as JSON or with ?format=csv"), {
      concise: true,
    }),
    upload_id: readable(
      z
        .uuid()
        .nullable()
        .describe("Of a completed dry run: pass it to create_import_job within 24 hours to import the file"),
      { sql: "case when status = 'completed' and (params ->> 'dry_run')::boolean then upload_id end" },
    ),
    result_url: readable(z.string().describe("The players whose last import this was"), {
      sql: "replace(status_url, '/api/import_jobs/', '/api/players?import_job_id.eq=')",
    }),
    /** The actor who requested the import and is responsible for its consents. */
    actor_type: internal(z.enum(ACTOR_TYPES)),
    actor_id: internal(z.uuid().nullable()),
  },
});
