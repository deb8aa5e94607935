import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import type { Http } from "#transports/http/handlers.ts";
import { assetPath } from "#transports/pages/frame/assets.ts";

const { resolve } = createRequire(import.meta.url);

// Served from the package, so that the page loads nothing from another host.
const FILES: Record<string, string> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

const HTML = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Player Marketing API</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/swagger-ui.css"><link rel="stylesheet" href="${assetPath("reference.css")}"></head><body><div id="docs"><p class="wait">Loading the API description …</p></div><noscript><p class="wait">This viewer needs JavaScript. The description itself is at <a href="/api/openapi.json">/api/openapi.json</a>.</p></noscript><script src="/docs/swagger-ui-bundle.js"></script><script type="module" src="${assetPath("reference.js")}"></script></body></html>`;

/** Mounts the API reference at /docs/api: the OpenAPI description for people, with requests to try. */
export function mountApiReference(app: Http): void {
  app.get("/docs/api", () => send(HTML, "text/html; charset=utf-8", "no-cache"));
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
