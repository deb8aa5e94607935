import type { Domain } from "#runtime/operation/catalog.ts";
import mergePlayers from "#tools/player-merge/merge-players.ts";
import dataDeletion from "./data-deletion.ts";
import dataExport from "./data-export.ts";
import finishErasure from "./finish-erasure.job.ts";
import privacyRequests from "./privacy-requests.table.ts";
import setLegalHold from "./set-legal-hold.ts";

/** Requests of players about their own data, and the merge of two records of one person. */
export const privacy: Domain = {
  name: "privacy",
  title: "Data privacy",
  tables: [privacyRequests],
  tools: [dataDeletion, dataExport, mergePlayers, setLegalHold],
  jobs: [finishErasure],
};
