import { readable } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";
import { ImportJobView } from "./import-job.ts";

const {
  id: _id,
  property_id: _property,
  created_at: _created,
  updated_at: _updated,
  ...columns
} = ImportJobView.shape;

export default table({
  name: "import_jobs",
  noun: "import_job",
  description:
    "An import job brings players in from a CSV file, in the background. Poll it until status is completed or failed; list_import_errors says which rows were refused, and why.",
  verbs: ["list", "get", "create", "delete"],
  own: ["create", "delete"],
  columns: Object.fromEntries(Object.entries(columns).map(([name, schema]) => [name, readable(schema)])),
});
