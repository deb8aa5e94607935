import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { approvalPage, approvalsPage, decide, previewPage } from "./approvals.ts";
import { previewMessage } from "./message.ts";

/** Mounts the pages on which people decide on proposals. */
export function mountApprovals(mounting: Mounting): void {
  mountDesk(mounting, "get", "/console/approvals", approvalsPage);
  mountDesk(mounting, "get", "/console/approvals/:id", approvalPage);
  mountDesk(mounting, "get", "/console/approvals/:id/preview", previewPage);
  mountDesk(mounting, "get", "/console/approvals/:id/message", previewMessage);
  for (const decision of ["approve", "refuse"] as const) {
    mountDesk(mounting, "post", `/console/approvals/:id/${decision}`, (desk) => decide(desk, decision));
  }
}
