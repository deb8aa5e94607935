import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { tokenField } from "#transports/console/frame.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Previewed } from "./previewed.ts";

/** The forms of a decision, where the proposal waits and the person may decide. */
export function actionsOf(desk: Desk, { proposal, stale, needs_another }: Previewed): Html | "" {
  if (proposal.status !== "waiting") return "";
  if (!desk.canWrite) return html`<p class="pane">${say().approvals.adminOrManagerDecidesOn}</p>`;
  const path = `/console/approvals/${proposal.id}`;
  const approve =
    stale.length > 0 || needs_another
      ? ""
      : html`<form method="post" action="${path}/approve">${tokenField(desk)}<input type="hidden" name="shown" value="${proposal.shown_hash}"><button class="small">${say().approvals.approveAndDoNow}</button></form>`;
  const own = needs_another ? html`<p>${say().approvals.ownProposal}</p>` : "";
  return html`<section class="pane decision"><h2 id="decide">${say().approvals.yourDecision}</h2>${own}<div class="acts last">${approve}<details><summary>${say().approvals.refuseOpens}</summary><form class="refusal" method="post" action="${path}/refuse">${tokenField(desk)}<label for="reason">${say().approvals.whyAgentReads}</label><textarea id="reason" name="reason" required maxlength="1000" rows="3"></textarea><button class="grave small">${say().approvals.refuse}</button></form></details></div></section>`;
}
