import { html, raw } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";

/** The strokes of each icon, on a square of 20. */
const STROKES: Readonly<Record<string, string>> = {
  "/console": "M2 11h3.5l2.5-7 4 12 2.5-5H18",
  "/console/campaigns": "M3 8v4h3l7 4V4L6 8zM16 8.5a2.5 2.5 0 0 1 0 3",
  "/console/journeys": "M4 5h6a3 3 0 0 1 0 6H9a3 3 0 0 0 0 6h7M4 3.5v3M16 15.5v3",
  "/console/segments": "M10 3a7 7 0 1 0 7 7h-7zM13 2.5A6 6 0 0 1 17.5 7H13z",
  "/console/templates": "M4 3h12v14H4zM7 7h6M7 10h6M7 13h3",
  "/console/players": "M10 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 17c0-3.5 2.5-5 6-5s6 1.5 6 5",
  "/console/approvals": "M10 2.5l6 2.5v4.5c0 4-2.5 6.5-6 8-3.5-1.5-6-4-6-8V5zM7 10l2.2 2.2L13.2 8",
  "/console/compliance":
    "M10 3v14M5 17h10M3.5 6h13M6 6l-2.5 5.5a2.5 2.5 0 0 0 5 0zM14 6l-2.5 5.5a2.5 2.5 0 0 0 5 0z",
  "/console/imports": "M10 3v9M6.5 8.5 10 12l3.5-3.5M3 14v3h14v-3",
  "/console/records": "M3 4h14v12H3zM3 8h14M3 12h14M8 8v8",
  "/console/settings":
    "M10 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M15.3 4.7l-1.4 1.4M6.1 13.9l-1.4 1.4",
  guide: "M10 5c-2-1.5-4.5-1.5-7-1v12c2.5-.5 5-.5 7 1 2-1.5 4.5-1.5 7-1V4c-2.5-.5-5-.5-7 1zM10 5v12",
};
const DOT = "M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6z";

/** A small picture beside a word that says the same. */
export function iconOf(name: string): Html {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d="${raw(STROKES[name] ?? DOT)}"/></svg>`;
}
