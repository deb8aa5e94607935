import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import { tokenField } from "#transports/console/frame.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Previewed } from "./preview.ts";

/** The forms of a decision, where the proposal waits and the person may decide. */
export function actionsOf(desk: Desk, { proposal, stale, needs_another }: Previewed): Html | "" {
  if (proposal.status !== "waiting") return "";
  if (desk.role === "analyst") return html`<p>An admin or a manager decides on it.</p>`;
  const path = `/console/approvals/${proposal.id}`;
  const approve =
    stale.length > 0 || needs_another
      ? ""
      : html`<form method="post" action="${path}/approve">${tokenField(desk)}<input type="hidden" name="shown" value="${proposal.shown_hash}"><button class="small">Approve and do it now</button></form>`;
  const own = needs_another
    ? html`<p>This proposal is your own, or of a key that you have made. Under four eyes another admin or manager approves it.</p>`
    : "";
  return html`<h2 id="decide">Your decision</h2>${own}<div class="acts last">${approve}<details><summary>Refuse…</summary><form class="refusal" method="post" action="${path}/refuse">${tokenField(desk)}<label for="reason">Why? The agent reads it</label><textarea id="reason" name="reason" required maxlength="1000" rows="3"></textarea><button class="grave small">Refuse</button></form></details></div>`;
}
