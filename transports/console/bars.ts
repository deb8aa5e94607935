import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import { tableOf } from "./frame.ts";
import { words } from "./values.ts";

/** A bar a row. The number stands beside it, so that nobody has to measure. */
export function bars(caption: string, counts: readonly [string, number][], whole: number): Html {
  const rows = counts.map(([name, count]) => {
    const share = whole === 0 ? 0 : (100 * count) / whole;
    return html`<tr><th scope="row">${words(name)}</th><td class="number">${count.toLocaleString("en-US")}</td><td class="number">${share.toFixed(1)} %</td><td class="bar-cell"><svg class="bar-of ${name}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${share.toFixed(2)}" height="10"/></svg></td></tr>`;
  });
  const table = tableOf(caption, ["Group", "Players", "Share", "Chart"], rows, html`<p>Nobody yet.</p>`);
  return html`<div class="counts">${table}</div>`;
}

/** Counts side by side. */
export function figures(counts: Readonly<Record<string, number>>): Html {
  const boxes = Object.entries(counts).map(
    ([name, count]) => html`<div><dt>${words(name)}</dt><dd>${count.toLocaleString("en-US")}</dd></div>`,
  );
  return html`<dl class="figures">${boxes}</dl>`;
}
