import { html } from "hono/html";
import { type AssetName, assetPath } from "./assets.ts";
import { DEFAULT_STYLE } from "./theme.ts";

/** HTML that `html` has made: every value in it is escaped. */
export type Html = ReturnType<typeof html>;

/**
 * No style or picture but our own, no script where the page has none, and no text becomes code. The pages load nothing
 * from elsewhere.
 */
function policyOf({ scripts = [], workers = false, frames = false, manifest }: Page): string {
  return [
    "default-src 'none'",
    ...(scripts.length > 0 ? ["script-src 'self'", "connect-src 'self'"] : []),
    ...(workers ? ["worker-src 'self'"] : []),
    ...(frames ? ["frame-src 'self'"] : []),
    ...(manifest === undefined ? [] : ["manifest-src 'self'"]),
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}

/** Headers of answers to one person that are no page: nothing keeps them, lists them, or guesses their type. */
export const UNSEEN = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex",
  "x-content-type-options": "nosniff",
};

export interface Page {
  title: string;
  language?: string;
  /** The style sheet of the theme. Default: the service's own. */
  theme?: string;
  /** Further style sheets and modules of ours. */
  styles?: readonly AssetName[];
  scripts?: readonly AssetName[];
  /** Its scripts start a service worker of ours. */
  workers?: boolean;
  /** It shows another page of ours in a frame. */
  frames?: boolean;
  /** The address of the page's manifest, for the Home Screen. */
  manifest?: string;
  /** The words of the card that a network shows for a shared link (Open Graph). */
  card?: { title: string; text: string; site: string };
  body: Html;
  status?: number;
  headers?: Record<string, string>;
}

/** A whole page. */
export async function respond(page: Page): Promise<Response> {
  const { title, language = "en", theme = DEFAULT_STYLE, styles = [], scripts = [] } = page;
  const links = [theme, ...["page.css" as const, ...styles].map(assetPath)];
  const text = await html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${title}</title>${page.card ? cardOf(page.card) : ""}${links.map((href) => html`<link rel="stylesheet" href="${href}">`)}<link rel="icon" href="${assetPath("icon.svg")}" type="image/svg+xml">${page.manifest === undefined ? "" : html`<link rel="manifest" href="${page.manifest}">`}${scripts.map((name) => html`<script type="module" src="${assetPath(name)}"></script>`)}</head><body>${page.body}</body></html>`;
  return new Response(String(text), {
    status: page.status ?? 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policyOf(page),
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      ...page.headers,
    },
  });
}

function cardOf({ title, text, site }: NonNullable<Page["card"]>): Html {
  const values = { title, description: text, site_name: site, type: "website" };
  return html`${Object.entries(values).map(([name, value]) => html`<meta property="og:${name}" content="${value}">`)}`;
}

/** A page of the service itself: no player sees it. */
export function servicePage({
  heading,
  content,
  ...page
}: Omit<Page, "body" | "title"> & { heading: string; content: Html; title?: string }): Promise<Response> {
  const body = html`<main class="card"><p class="from">Player marketing</p><h1>${heading}</h1>${content}</main>`;
  return respond({ title: heading, ...page, body });
}
