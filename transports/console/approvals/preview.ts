import { html } from "hono/html";
import { bars, figures } from "#transports/console/bars.ts";
import type { Desk } from "#transports/console/desk.ts";
import type { Chosen, Variants } from "#transports/console/preview/chosen.ts";
import type { Preview } from "#transports/console/preview/message.ts";
import { inEnglish, money, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { messageSection } from "./message.ts";

/** The answer of preview_proposal. */
export interface Previewed {
  proposal: {
    id: string;
    status: string;
    tool: string;
    title: string;
    input: Record<string, unknown>;
    sentences: string[];
    reasons: string[];
    shown_hash: string;
    proposed_by: { type: string; id: string | null };
    client: string | null;
    reason: string | null;
    result: { entity: string | null; entity_id: string | null } | null;
    decided_by_email: string | null;
    decided_at: string | null;
    expires_at: string;
    created_at: string;
  };
  preview: Tried | null;
  /** The message as the call would leave it, where the call is about a campaign. */
  shown: Preview | null;
  stale: string[];
  needs_another: boolean;
}

/** The call's own dry run: a check, or a record as it would be. */
export interface Tried {
  preflight?: Preflight;
  ab_test?: { variants: Variants } | null;
  campaign?: { ab_test?: { variants: Variants } | null };
  subject?: string | null;
  html?: string | null;
  text?: string | null;
}

export interface Preflight {
  warnings: string[];
  audience: number;
  blocked: Record<string, number>;
  allowed: number;
  estimated_cost: { amount: number | null; currency: string | null } | null;
  sample_renders: { player_id: string; to: string; subject: string | null }[];
}

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
