import type { Html } from "#transports/pages/frame/page.ts";
import { bars as barsOf, figures as figuresOf } from "./views/parts.js";
import { speech } from "./words/say.ts";

/** A bar a row, in the language of the request. */
export function bars(
  caption: string,
  counts: readonly (readonly [string, number, (string | Html)?])[],
  whole: number,
  head?: string | Html,
): Html {
  return barsOf(speech(), { caption, counts, whole, head });
}

/** Counts side by side, in the language of the request. */
export function figures(counts: Readonly<Record<string, number>>): Html {
  return figuresOf(speech(), counts);
}
