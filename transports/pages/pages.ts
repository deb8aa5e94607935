import { html } from "hono/html";
import type { HttpContext } from "#transports/http/handlers.ts";
import { mountAssets } from "./frame/assets.ts";
import { servicePage } from "./frame/page.ts";
import { mountThemes } from "./frame/theme.ts";
import { mountGames } from "./games/games.ts";
import type { Badges } from "./inbox/badges.ts";
import { mountInbox } from "./inbox/inbox.ts";
import type { OpenCounter } from "./message/opens.ts";
import { mountPreferences } from "./message/preferences.ts";
import { mountTracking } from "./message/tracking.ts";
import { mountUnsubscribe } from "./message/unsubscribe.ts";
import type { Mounting } from "./player/visit.ts";
import { mountPush } from "./push/push.ts";
import { mountApiReference } from "./service/api-reference.ts";
import { mountGuides } from "./service/guides.ts";
import { mountPasswordReset } from "./service/password-reset.ts";
import { mountShares } from "./share/share.ts";

/** Mounts all pages: of players, behind the links of messages, for accounts, and for readers of the documentation. */
export function mountPages(
  mounting: Mounting,
  { opens, badges }: { opens: OpenCounter; badges: Badges },
): void {
  const { app, service } = mounting;
  mountAssets(app);
  mountThemes(app, service);
  mountUnsubscribe(mounting);
  mountPreferences(mounting);
  mountTracking(mounting, opens);
  mountInbox(mounting, badges);
  mountGames(mounting);
  mountPush(mounting);
  mountShares(mounting);
  mountPasswordReset(mounting);
  mountGuides(app);
  mountApiReference(app);
  app.get("/", homePage);
}

/** The page of an address that has none, for a browser. Null for programs, and beneath /api. */
export function missingPage({ req }: HttpContext): Promise<Response> | null {
  const isRead = req.method === "GET" || req.method === "HEAD";
  if (!isRead || req.path.startsWith("/api/") || !req.header("accept")?.includes("text/html")) return null;
  return servicePage({
    heading: "There is no page here",
    content: html`<p>The address may be mistyped, or cut off on its way. Use the whole link of the message.</p>
<p class="soft"><a href="/">To the start</a></p>`,
    status: 404,
  });
}

function homePage(): Promise<Response> {
  return servicePage({
    title: "Player Marketing Service",
    heading: "It runs",
    content: html`<p>AI agents connect by MCP at <b>/api/mcp</b>, programs by REST under <b>/api</b>, with the API key that the first start printed.</p>
<p><a href="/console">Console, for people</a><br><a href="/docs">Guides</a><br><a href="/docs/api">API reference, with requests to try</a><br><a href="/api/openapi.json">OpenAPI description</a><br><a href="/llms.txt">The operations in plain text</a><br><a href="/.well-known/mcp.json">MCP discovery</a></p>
<p class="soft">The README leads to the first campaign in five minutes.</p>`,
  });
}
