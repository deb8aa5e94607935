import type { Domain } from "#runtime/operation/catalog.ts";
import approveProposal from "./approve-proposal.ts";
import expireProposal from "./expire-proposal.job.ts";
import previewProposal from "./preview-proposal.ts";
import proposals from "./proposals.table.ts";
import refuseProposal from "./refuse-proposal.ts";
import withdrawProposal from "./withdraw-proposal.ts";

/** Calls that wait for a person, and their decisions. */
export const approvals: Domain = {
  name: "approvals",
  title: "Approvals",
  tables: [proposals],
  tools: [approveProposal, previewProposal, refuseProposal, withdrawProposal],
  jobs: [expireProposal],
};
