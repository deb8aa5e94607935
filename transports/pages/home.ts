import type { Http } from "../guarded.ts";
import { page } from "./page.ts";

/** Where somebody lands who opens the service's address in a browser. */
export function mountHome(app: Http): void {
  app.get("/", () =>
    page(
      "Player Marketing Service",
      `<p class="from">Player Marketing Service</p><h1>It runs</h1>
<p>AI agents connect by MCP at <b>/api/mcp</b>, programs by REST under <b>/api</b>, with the API key that the first start printed.</p>
<p><a href="/docs">API reference, with requests to try</a><br><a href="/api/openapi.json">OpenAPI description</a><br><a href="/llms.txt">The operations in plain text</a><br><a href="/.well-known/mcp.json">MCP discovery</a></p>
<p class="soft">The README has the first campaign in five minutes.</p>`,
    ),
  );
}
