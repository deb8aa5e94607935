import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import { bars, figures } from "./bars.ts";
import type { Desk, Row } from "./desk.ts";
import { tokenField } from "./frame.ts";

interface Preflight {
  ok: boolean;
  errors: { field: string; message: string; stops_sending: boolean }[];
  warnings: string[];
  audience: number;
  blocked: Record<string, number>;
  allowed: number;
  deferred: Record<string, { count: number }>;
  estimated_cost: { amount: number | null; currency: string | null } | null;
  sample_renders: { to: string; subject: string | null; html: string | null; text: string }[];
}

/** The check of a campaign before it goes: who gets it, who does not, its cost, and the message as players will see it. */
export async function checkSection(desk: Desk, campaign: Row): Promise<Html> {
  const result = await desk.run<Preflight>("preflight_campaign", { campaignId: campaign.id });
  const blocked = Object.entries(result.blocked).sort(([, one], [, other]) => other - one);
  const waiting = Object.values(result.deferred).reduce((total, { count }) => total + count, 0);
  return html`<h2 id="check">Before it goes</h2>${verdict(result)}${figures({ audience: result.audience, messages: result.allowed, wait_first: waiting })}${blocked.length > 0 ? html`<h3>Who gets none, and why</h3>${bars("Blocked by reason", blocked, result.audience)}` : ""}${cost(result)}<h3>As players will see it</h3>${samples(campaign, result)}${buttons(desk, campaign, result)}`;
}

/** The first sample's HTML. The page shows it in a frame without scripts and without our cookies. */
export async function messageOf(desk: Desk): Promise<Response> {
  const campaignId = desk.c.req.param("id");
  const { sample_renders } = await desk.run<Preflight>("preflight_campaign", { campaignId });
  return new Response(sample_renders[0]?.html ?? "", {
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

function verdict({ ok, errors, warnings }: Preflight): Html {
  const problems = errors.map(({ field, message }) => html`<li>${field}: ${message}</li>`);
  const list = problems.length > 0 ? html`<ul>${problems}</ul>` : "";
  const said = ok
    ? html`<p class="said" role="status">It can be sent now.</p>`
    : html`<p class="wrong" role="alert">It cannot be sent as it is.</p>`;
  return html`${said}${list}${warnings.length > 0 ? html`<ul>${warnings.map((text) => html`<li>${text}</li>`)}</ul>` : ""}`;
}

function cost({ estimated_cost }: Preflight): Html | "" {
  if (estimated_cost === null) return "";
  const { amount, currency } = estimated_cost;
  if (amount === null) return html`<p>The provider has no price, so the cost is not known.</p>`;
  return html`<p>Estimated cost: ${currency === null ? "none" : amount.toLocaleString("en-US", { style: "currency", currency })}</p>`;
}

function samples(campaign: Row, { sample_renders }: Preflight): Html {
  if (sample_renders.length === 0) return html`<p class="soft">Nobody would get it.</p>`;
  const frame =
    sample_renders[0]!.html === null
      ? ""
      : html`<iframe class="mail" title="The message as the first of them gets it" src="/console/campaigns/${campaign.id}/message" sandbox></iframe>`;
  return html`${frame}${sample_renders.map(
    ({ to, subject, text }) =>
      html`<details class="message"><summary>${to}${subject ? html`: ${subject}` : ""}</summary><pre>${text}</pre></details>`,
  )}`;
}

function buttons(desk: Desk, campaign: Row, { ok, allowed }: Preflight): Html {
  const test =
    campaign.channel === "email"
      ? html`<form method="post" action="/console/campaigns/${campaign.id}/test">${tokenField(desk)}<button class="quiet small">Send a test to ${desk.user.email}</button></form>`
      : "";
  const send = ok
    ? html`<details><summary>Send now…</summary><p>${allowed.toLocaleString("en-US")} messages go out. What has left cannot be taken back.</p><form method="post" action="/console/campaigns/${campaign.id}/send">${tokenField(desk)}<button class="small">Send ${allowed.toLocaleString("en-US")} messages</button></form></details>`
    : "";
  return html`<div class="acts last">${test}${send}</div>`;
}
