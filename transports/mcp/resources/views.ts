import { readFileSync } from "node:fs";
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ReadResourceResult,
  type Resource,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { packed } from "#transports/console/views/words.js";
import { english } from "#transports/console/words/english/english.ts";
import type { Surface } from "#transports/mcp/listing/visible-tools.ts";
import { metaOf } from "#transports/mcp/messages.ts";
import type { Session } from "#transports/mcp/sessions.ts";
import { DEFAULT_SHEET } from "#transports/pages/frame/theme.ts";

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

/** Whether the client of this message shows views. From revision 2026-07-28 on each message says so. */
export function showsViews(body: unknown, session: Session): boolean {
  const declared = metaOf(body, CLIENT_CAPABILITIES_META_KEY);
  return declared === undefined ? session.views : declaresApps(declared);
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
const VIEW_FOLDER = new URL("../../console/views/", import.meta.url);

/** One file: the view with its parts, its words, and the host's side of the connection in it. */
function pageOf(name: string): string {
  let page = pages.get(name);
  if (page === undefined) {
    const code = [...modulesOf(`${name}.js`), ...modulesOf("bridge.js")];
    const script = [...new Set(code)].map((file) => bare(textOf(file))).join("\n");
    // A mark that could end the script is written as JSON can write it.
    const words = JSON.stringify(packed(wordsIn(script))).replaceAll("<", "\\u003c");
    const styles = [DEFAULT_SHEET, ...SHEETS.map(textOf)].join("\n");
    page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"><title>${VIEWS[name]}</title><style>${styles}</style></head><body><main><h1>${VIEWS[name]}</h1><div id="view" aria-live="polite"></div></main><script type="module">const WORDS = ${words};\n${script}</script></body></html>`;
    pages.set(name, page);
  }
  return page;
}

const SHEETS = ["../../pages/assets/tables.css", "../../pages/assets/charts.css", "view.css"] as const;

function textOf(file: string): string {
  return readFileSync(new URL(file, VIEW_FOLDER), "utf8");
}

const IMPORT = /^import [^;]* from "\.\/(.+)";$/gm;

/** A module and those that it imports, each after its own. */
function modulesOf(file: string): string[] {
  const needed = [...textOf(file).matchAll(IMPORT)].flatMap(([, other]) => modulesOf(other!));
  return [...needed, file];
}

/** A module's code, to stand beside those that it imports. */
function bare(code: string): string {
  return code
    .replaceAll(IMPORT, "")
    .replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, "")
    .replaceAll(/^\/\/.*\n/gm, "")
    .replaceAll(/^export /gm, "");
}

/** The words that the code names, and those that it looks up by a code. */
function wordsIn(code: string): object {
  const { locale, hourCycle, labels, nouns, terms, reasons, callReasons } = english;
  const { campaigns, general, journeys, report, segments } = english;
  const named = Object.entries({ campaigns, general, journeys, report, segments }).map(([room, words]) => [
    room,
    Object.fromEntries(Object.entries(words).filter(([word]) => code.includes(`words.${room}.${word}`))),
  ]);
  return { locale, hourCycle, labels, nouns, terms, reasons, callReasons, ...Object.fromEntries(named) };
}
