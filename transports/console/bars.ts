import { html } from "hono/html";
import type { Html } from "#transports/pages/frame/page.ts";
import { numbers, tableOf } from "./frame.ts";
import { words } from "./values.ts";
import { count, say } from "./words/say.ts";

/** A bar a row. The number stands beside it, so that nobody has to measure. */
export function bars(
  caption: string,
  counts: readonly (readonly [string, number, (string | Html)?])[],
  whole: number,
  head = say().general.group,
): Html {
  const rows = counts.map(([name, value, label]) => {
    const share = whole === 0 ? 0 : (100 * value) / whole;
    return html`<tr><th scope="row">${label ?? words(name)}</th><td class="number">${count(value)}</td><td class="number share">${share.toFixed(1)} %</td><td class="bar-cell"><svg class="bar-of ${name}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${share.toFixed(2)}" height="10"/></svg></td></tr>`;
  });
  const table = tableOf(
    caption,
    [head, numbers(say().general.count), numbers(say().general.share), say().general.chart],
    rows,
    html`<p>${say().general.nobodyYet}</p>`,
  );
  return html`<div class="counts">${table}</div>`;
}

/** Counts side by side. A name may be a term that explains itself. */
export function figures(counts: Readonly<Record<string, number>>): Html {
  return tiles(Object.entries(counts).map(([name, value]) => ({ name: words(name), value: count(value) })));
}

export interface Tile {
  name: string | Html;
  value: string | Html;
  /** Smaller, beneath the value. */
  note?: string | Html;
}

/** Figures side by side. */
export function tiles(all: readonly Tile[]): Html {
  return html`<dl class="figures">${all.map(({ name, value, note }) => html`<div><dt>${name}</dt><dd>${value}${note ? html`<small>${note}</small>` : ""}</dd></div>`)}</dl>`;
}

/** The parts of a whole in one bar, with a legend. The parts add up to the whole. */
export function stacked(caption: string, parts: readonly (readonly [string, number])[], whole: number): Html {
  let left = 0;
  const rects = parts.map(([name, value]) => {
    const width = whole === 0 ? 0 : (1000 * value) / whole;
    const at = left;
    left += width;
    return html`<rect class="of-${name}" x="${at.toFixed(2)}" width="${width.toFixed(2)}" height="20"/>`;
  });
  const legend = parts.map(
    ([name, value]) =>
      html`<div><dt><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="of-${name}" width="10" height="10" rx="2"/></svg>${words(name)}</dt><dd>${count(value)}<small>${whole === 0 ? "0.0" : ((100 * value) / whole).toFixed(1)} %</small></dd></div>`,
  );
  return html`<figure class="stacked"><figcaption class="unseen">${caption}</figcaption><svg viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">${rects}</svg><dl class="legend">${legend}</dl></figure>`;
}
