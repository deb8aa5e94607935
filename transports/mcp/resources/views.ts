import { readFileSync } from "node:fs";
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ReadResourceResult,
  type Resource,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Surface } from "#transports/mcp/listing/visible-tools.ts";
import type { Session } from "#transports/mcp/sessions.ts";

/** The extension of MCP Apps, revision 2026-01-26. */
export const APPS = "io.modelcontextprotocol/ui";
const MIME = "text/html;profile=mcp-app";
const SCHEME = "ui://view/";

/** The tools whose answers have a view: a file of the tool's name in transports/console/views. */
const VIEWS: Readonly<Record<string, string>> = {
  campaign_stats: "A campaign's figures",
  journey_report: "A journey's figures",
  preflight_campaign: "A campaign before it goes",
  segment_preview: "A segment's players",
  simulate_journey: "A simulated journey",
};

const Declared = z.looseObject({
  extensions: z.looseObject({ [APPS]: z.looseObject({ mimeTypes: z.array(z.string()) }) }),
});

/** Whether these capabilities of a client have the extension, with HTML. */
export function declaresApps(capabilities: unknown): boolean {
  const declared = Declared.safeParse(capabilities);
  return declared.success && declared.data.extensions[APPS].mimeTypes.includes(MIME);
}

const Carrying = z.looseObject({
  params: z.looseObject({ _meta: z.looseObject({ [CLIENT_CAPABILITIES_META_KEY]: z.unknown() }) }),
});
/** Whether the client of this message shows views. From revision 2026-07-28 on each message says so. */
export function showsViews(body: unknown, session: Session): boolean {
  const carrying = Carrying.safeParse(body);
  if (!carrying.success) return session.views;
  return declaresApps(carrying.data.params._meta[CLIENT_CAPABILITIES_META_KEY]);
}

const lists = new WeakMap<Surface, string>();

/** The list of tools for a client that shows views: each tool with a view names it. */
export function listWithViews(surface: Surface): string {
  let list = lists.get(surface);
  if (list === undefined) {
    const tools = surface.listed.map((tool) =>
      Object.hasOwn(VIEWS, tool.name)
        ? { ...tool, _meta: { ui: { resourceUri: SCHEME + tool.name } } }
        : tool,
    );
    list = JSON.stringify(tools);
    lists.set(surface, list);
  }
  return list;
}

/** The views of this connection's tools. */
export function viewResources({ reach }: Surface): Resource[] {
  return Object.entries(VIEWS)
    .filter(([name]) => reach.has(name))
    .map(([name, title]) => ({ uri: SCHEME + name, name, title, mimeType: MIME }));
}

/** A view as a host shows it; null for another address. */
export function readView({ reach }: Surface, uri: string): ReadResourceResult | null {
  const name = uri.startsWith(SCHEME) ? uri.slice(SCHEME.length) : "";
  if (!Object.hasOwn(VIEWS, name) || !reach.has(name)) return null;
  // It connects to nothing, and loads nothing.
  const _meta = { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } };
  return { contents: [{ uri, mimeType: MIME, text: pageOf(name), _meta }] };
}

const pages = new Map<string, string>();

/** One file: the view with its parts and the host's side of the connection in it. */
function pageOf(name: string): string {
  let page = pages.get(name);
  if (page === undefined) {
    const script = ["parts.js", `${name}.js`, "bridge.js"].map(inlined).join("\n");
    page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"><title>${VIEWS[name]}</title><style>${textOf("view.css")}</style></head><body><main id="view" aria-live="polite"></main><script type="module">${script}</script></body></html>`;
    pages.set(name, page);
  }
  return page;
}

function textOf(file: string): string {
  return readFileSync(new URL(`../../console/views/${file}`, import.meta.url), "utf8");
}

/** A module's text beside those that it imports from. */
function inlined(file: string): string {
  return textOf(file)
    .replaceAll(/^import .*$/gm, "")
    .replaceAll(/^export /gm, "");
}
