import type { Domain } from "#runtime/operation/catalog.ts";
import createImportJob from "./create-import-job.ts";
import createUploadLink from "./create-upload-link.ts";
import deleteImportJob from "./delete-import-job.ts";
import exportImportErrors from "./export-import-errors.ts";
import importJobs from "./import-jobs.table.ts";
import importPlayers from "./import-players.job.ts";
import listImportErrors from "./list-import-errors.ts";
import readImportFile from "./read-import-file.ts";
import sweepImports from "./sweep-imports.job.ts";

/** Players from files. */
export const imports: Domain = {
  name: "imports",
  title: "Imports",
  tables: [importJobs],
  tools: [
    createImportJob,
    createUploadLink,
    deleteImportJob,
    exportImportErrors,
    listImportErrors,
    readImportFile,
  ],
  jobs: [importPlayers, sweepImports],
};
