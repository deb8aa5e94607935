import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation.ts";
import { failImport } from "./import-job.ts";
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
  async handler(context, { id }) {
    const { sql, property, audit } = context;
    audit({ entityId: id });
    if (await failImport(context, id, "cancelled")) return { success: true as const };
    const [job] = await sql<{ status: string; error: string | null }[]>`
      select status, error from import_jobs where property_id = ${property.id} and id = ${id}`;
    if (!job) throw new Fault("not_found", { message: `No import job with the id ${id} in this property.` });
    if (job.error === "cancelled") return { success: true as const };
    throw new Fault("conflict", {
      message: `The import is ${job.status} already; there is nothing to cancel.`,
    });
  },
});
