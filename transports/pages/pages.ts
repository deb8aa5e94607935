import { mountApiReference } from "./api-reference.ts";
import { mountGuides } from "./guides.ts";
import type { Mounting } from "./message-link.ts";
import type { OpenCounter } from "./opens.ts";
import { page } from "./page.ts";
import { mountPasswordReset } from "./password-reset.ts";
import { mountPreferences } from "./preferences.ts";
import { mountShares } from "./share.ts";
import { mountTracking } from "./tracking.ts";
import { mountUnsubscribe } from "./unsubscribe.ts";

/** Mounts all pages: behind the links of messages, for accounts, and for readers of the documentation. */
export function mountPages(mounting: Mounting, opens: OpenCounter): void {
  const { app } = mounting;
  mountUnsubscribe(mounting);
  mountPreferences(mounting);
  mountTracking(mounting, opens);
  mountShares(mounting);
  mountPasswordReset(mounting);
  mountGuides(app);
  mountApiReference(app);
  app.get("/", homePage);
}

function homePage(): Response {
  return page(
    "Player Marketing Service",
    `<p class="from">Player Marketing Service</p><h1>It runs</h1>
<p>AI agents connect by MCP at <b>/api/mcp</b>, programs by REST under <b>/api</b>, with the API key that the first start printed.</p>
<p><a href="/docs">Guides</a><br><a href="/docs/api">API reference, with requests to try</a><br><a href="/api/openapi.json">OpenAPI description</a><br><a href="/llms.txt">The operations in plain text</a><br><a href="/.well-known/mcp.json">MCP discovery</a></p>
<p class="soft">The README leads to the first campaign in five minutes.</p>`,
  );
}
