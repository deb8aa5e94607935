import type { Domain } from "#runtime/operation/catalog.ts";
import approveProposal from "./approve-proposal.ts";
import checkProposals from "./check-proposals.job.ts";
import expireProposal from "./expire-proposal.job.ts";
import mailApprovals from "./mail-approvals.job.ts";
import previewProposal from "./preview-proposal.ts";
import proposals from "./proposals.table.ts";
import { recheckProposals } from "./recheck.ts";
import refuseProposal from "./refuse-proposal.ts";
import sendApprovalNotice from "./send-approval-notice.job.ts";
import sweepProposals from "./sweep-proposals.job.ts";
import withdrawProposal from "./withdraw-proposal.ts";

/** Calls that wait for a person, and their decisions. */
export const approvals: Domain = {
  name: "approvals",
  title: "Approvals",
  tables: [proposals],
  tools: [approveProposal, previewProposal, refuseProposal, withdrawProposal],
  jobs: [checkProposals, expireProposal, mailApprovals, sendApprovalNotice, sweepProposals],
  afterShaping: recheckProposals,
};
