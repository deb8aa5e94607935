import { html } from "hono/html";
import { bars, figures } from "#transports/console/bars.ts";
import type { Desk } from "#transports/console/desk.ts";
import type { Chosen } from "#transports/console/preview/chosen.ts";
import { inEnglish, money, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { messageSection } from "./message.ts";
import type { Preflight, Previewed } from "./previewed.ts";

/** The preview as it would be now: who gets it, the cost, and the whole message as players would see it. */
export async function previewSection(desk: Desk, previewed: Previewed, chosen: Chosen): Promise<Html> {
  const { proposal, preview } = previewed;
  const checked = preview?.preflight;
  return html`${recordLink(proposal)}${checked ? reachOf(checked) : ""}${await messageSection(desk, previewed, chosen)}`;
}

function reachOf(checked: Preflight): Html {
  const { audience, allowed, warnings } = checked;
  const blocked = Object.entries(checked.blocked).sort(([, one], [, other]) => other - one);
  return html`<h2>${say().approvals.whoGetsIt}</h2>${figures({ audience, messages: allowed })}${blocked.length > 0 ? html`<h3>${say().general.whoGetsNoneAndWhy}</h3>${bars(say().general.blockedByReason, blocked, audience)}` : ""}${costOf(checked)}${warnings.length > 0 ? html`<ul>${warnings.map((text) => html`<li>${inEnglish(text)}</li>`)}</ul>` : ""}`;
}

function costOf({ estimated_cost }: Preflight): Html | "" {
  if (estimated_cost === null) return "";
  const { amount, currency } = estimated_cost;
  if (amount === null) return html`<p>${say().approvals.providerHasNoPriceSo}</p>`;
  return html`<p>${say().approvals.estimatedCostIs(currency === null ? say().general.none : money(amount, currency))}</p>`;
}

/** Records with a page, by the argument that names them. */
const PAGES: Readonly<Record<string, string>> = {
  campaignId: "/console/campaigns",
  campaign_id: "/console/campaigns",
  journeyId: "/console/journeys",
  journey_id: "/console/journeys",
  gameId: "/console/records/games",
  segment_id: "/console/segments",
};
const BY_TOOL: Readonly<Record<string, string>> = {
  update_campaign: "/console/campaigns",
  update_segment: "/console/segments",
  update_template: "/console/records/templates",
};

/** The way to the record that the call is about. */
export function recordLink({ tool, input }: Previewed["proposal"]): Html | "" {
  const named = Object.entries(PAGES).find(([name]) => typeof input[name] === "string");
  const path = named ? `${named[1]}/${input[named[0]]}` : BY_TOOL[tool] && `${BY_TOOL[tool]}/${input.id}`;
  return path ? html`<p><a href="${path}">${say().approvals.lookAtRecordAsNow}</a></p>` : "";
}
