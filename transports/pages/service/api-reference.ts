import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import type { Http } from "#transports/http/handlers.ts";

const { resolve } = createRequire(import.meta.url);

// Served from the package, so that the page loads nothing from another host.
const FILES: Record<string, string> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

const HTML = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Player Marketing API</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/swagger-ui.css"><link rel="stylesheet" href="/docs/page.css"></head><body><div id="docs"><p class="wait">Loading the API description …</p></div><noscript><p class="wait">This viewer needs JavaScript. The description itself is at <a href="/api/openapi.json">/api/openapi.json</a>.</p></noscript><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/page.js"></script></body></html>`;

const STYLE = `body{margin:0;background:#fafaf8}.wait{padding:48px;font:17px/1.5 system-ui,sans-serif;text-align:center}
.swagger-ui .info{margin:32px 0}.swagger-ui .opblock .opblock-summary-path{max-width:none}
.swagger-ui .scheme-container{box-shadow:none;border-bottom:1px solid #e3dfd6;background:none}
html.dark-mode,html.dark-mode body{background:#1c2022;color:#e4e6e6;color-scheme:dark}
html.dark-mode .swagger-ui .scheme-container{border-color:#3b4151;background:none}`;

// validatorUrl is null: a validator would send the address of the description to another host.
// The viewer's style sheet has a dark mode, which a class of the page turns on.
const SCRIPT = `const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();
SwaggerUIBundle({ url: "/api/openapi.json", dom_id: "#docs", docExpansion: "none", filter: true,
  deepLinking: true, displayRequestDuration: true, tryItOutEnabled: true, persistAuthorization: true, validatorUrl: null,
  defaultModelsExpandDepth: -1, presets: [SwaggerUIBundle.presets.apis] });`;

/** Mounts the API reference at /docs/api: the OpenAPI description for people, with requests to try. */
export function mountApiReference(app: Http): void {
  app.get("/docs/api", () => send(HTML, "text/html; charset=utf-8", "no-cache"));
  app.get("/docs/page.css", () => send(STYLE, "text/css; charset=utf-8", "public, max-age=3600"));
  app.get("/docs/page.js", () => send(SCRIPT, "text/javascript; charset=utf-8", "public, max-age=3600"));
  for (const [name, contentType] of Object.entries(FILES)) {
    let packed: Uint8Array<ArrayBuffer> | undefined;
    app.get(`/docs/${name}`, (c) => {
      const file = () => readFileSync(resolve(`swagger-ui-dist/${name}`));
      const cached = "public, max-age=3600";
      if (!/\bgzip\b/.test(c.req.header("accept-encoding") ?? "")) return send(file(), contentType, cached);
      packed ??= gzipSync(file());
      return send(packed, contentType, cached, { "content-encoding": "gzip", vary: "Accept-Encoding" });
    });
  }
}

function send(
  body: string | Uint8Array<ArrayBuffer>,
  contentType: string,
  cacheControl: string,
  more: Record<string, string> = {},
): Response {
  return new Response(body, {
    headers: {
      "content-type": contentType,
      "cache-control": cacheControl,
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      ...more,
    },
  });
}
