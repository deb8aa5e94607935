import { html } from "hono/html";
import { bars, figures } from "#transports/console/bars.ts";
import type { Desk } from "#transports/console/desk.ts";
import { inEnglish, money, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

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
    decided_at: string | null;
    expires_at: string;
    created_at: string;
  };
  preview: Preview | null;
  stale: string[];
  needs_another: boolean;
}

/** The call's own dry run: a check, or a record as it would be. */
interface Preview {
  preflight?: Preflight;
  subject?: string | null;
  body_html?: string | null;
  html?: string | null;
  body_text?: string | null;
  text?: string | null;
}

interface Preflight {
  warnings: string[];
  audience: number;
  blocked: Record<string, number>;
  allowed: number;
  estimated_cost: { amount: number | null; currency: string | null } | null;
  sample_renders: { to: string; subject: string | null; html: string | null; text: string }[];
}

/** The preview as it would be now: of a call that sends, who gets it; of a changed record, its content. */
export function previewSection({ proposal, preview }: Previewed): Html | "" {
  const checked = preview?.preflight;
  if (!checked) return html`${recordLink(proposal)}${preview ? contentOf(proposal.id, preview) : ""}`;
  const { audience, allowed, warnings } = checked;
  const blocked = Object.entries(checked.blocked).sort(([, one], [, other]) => other - one);
  return html`${recordLink(proposal)}<h2>${say().approvals.whoGetsIt}</h2>${figures({ audience, messages: allowed })}${blocked.length > 0 ? html`<h3>${say().general.whoGetsNoneAndWhy}</h3>${bars(say().general.blockedByReason, blocked, audience)}` : ""}${costOf(checked)}${warnings.length > 0 ? html`<ul>${warnings.map((text) => html`<li>${inEnglish(text)}</li>`)}</ul>` : ""}<h2>${say().approvals.asPlayersWillSee}</h2>${samplesOf(proposal.id, checked)}`;
}

/** The first sample's HTML. The page shows it in a frame without scripts and without our cookies. */
export async function previewMessage(desk: Desk): Promise<Response> {
  const proposalId = desk.c.req.param("id");
  const { preview } = await desk.run<Previewed>("preview_proposal", { proposalId });
  const sample = preview?.preflight?.sample_renders[0]?.html;
  return new Response(sample ?? preview?.body_html ?? preview?.html ?? "", {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    },
  });
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

/** The content of a record as the call would leave it, before it is filled in for a player. */
function contentOf(id: string, { subject, body_html, html: markup, body_text, text }: Preview): Html | "" {
  const plain = body_text ?? text;
  if (!subject && !body_html && !markup && !plain) return "";
  const frame =
    (body_html ?? markup)
      ? html`<iframe class="mail" title="${say().approvals.theContent}" src="/console/approvals/${id}/message" sandbox></iframe>`
      : "";
  return html`<h2>${say().approvals.contentAsWouldBe}</h2>${subject ? html`<p><b>${subject}</b></p>` : ""}${frame}${plain ? html`<div class="message"><pre>${plain}</pre></div>` : ""}`;
}

function samplesOf(id: string, { sample_renders }: Preflight): Html {
  if (sample_renders.length === 0) return html`<p class="soft">${say().general.nobodyWouldGetIt}</p>`;
  const frame =
    sample_renders[0]!.html === null
      ? ""
      : html`<iframe class="mail" title="${say().approvals.messageAsFirstThemGets}" src="/console/approvals/${id}/message" sandbox></iframe>`;
  return html`${frame}${sample_renders.map(
    ({ to, subject, text }) =>
      html`<details class="message"><summary>${to}${subject ? html`: ${subject}` : ""}</summary><pre>${text}</pre></details>`,
  )}`;
}
