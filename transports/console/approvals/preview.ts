import { html } from "hono/html";
import { bars, figures } from "#transports/console/bars.ts";
import type { Desk } from "#transports/console/desk.ts";
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
  preview: { preflight?: Preflight } | null;
  stale: string[];
}

interface Preflight {
  warnings: string[];
  audience: number;
  blocked: Record<string, number>;
  allowed: number;
  estimated_cost: { amount: number | null; currency: string | null } | null;
  sample_renders: { to: string; subject: string | null; html: string | null; text: string }[];
}

/** The preview of a call that sends messages, as it would be now. Other calls are told in sentences alone. */
export function previewSection({ proposal, preview }: Previewed): Html | "" {
  const checked = preview?.preflight;
  if (!checked) return "";
  const { audience, allowed, warnings } = checked;
  const blocked = Object.entries(checked.blocked).sort(([, one], [, other]) => other - one);
  return html`<h2>Who gets it</h2>${figures({ audience, messages: allowed })}${blocked.length > 0 ? html`<h3>Who gets none, and why</h3>${bars("Blocked by reason", blocked, audience)}` : ""}${costOf(checked)}${warnings.length > 0 ? html`<ul>${warnings.map((text) => html`<li>${text}</li>`)}</ul>` : ""}<h2>As players will see it</h2>${samplesOf(proposal.id, checked)}`;
}

/** The first sample's HTML. The page shows it in a frame without scripts and without our cookies. */
export async function previewMessage(desk: Desk): Promise<Response> {
  const proposalId = desk.c.req.param("id");
  const { preview } = await desk.run<Previewed>("preview_proposal", { proposalId });
  return new Response(preview?.preflight?.sample_renders[0]?.html ?? "", {
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
  if (amount === null) return html`<p>The provider has no price, so the cost is not known.</p>`;
  return html`<p>Estimated cost: ${currency === null ? "none" : amount.toLocaleString("en-US", { style: "currency", currency })}</p>`;
}

function samplesOf(id: string, { sample_renders }: Preflight): Html {
  if (sample_renders.length === 0) return html`<p class="soft">Nobody would get it.</p>`;
  const frame =
    sample_renders[0]!.html === null
      ? ""
      : html`<iframe class="mail" title="The message as the first of them gets it" src="/console/approvals/${id}/message" sandbox></iframe>`;
  return html`${frame}${sample_renders.map(
    ({ to, subject, text }) =>
      html`<details class="message"><summary>${to}${subject ? html`: ${subject}` : ""}</summary><pre>${text}</pre></details>`,
  )}`;
}
