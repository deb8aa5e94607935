import { Fault, type FaultDetail } from "#runtime/faults.ts";
import { contrast, type Demand, nearestPassing } from "./contrast.ts";
import type { ColorName, Colors, Theme } from "./theme.ts";

/** Least contrast by WCAG 2.2 AA: text (1.4.3), and the parts of controls (1.4.11). */
const TEXT = 4.5;
const PART = 3;

/** The pairs that stand on each other on the pages. */
const PAIRS: readonly (readonly [color: ColorName, ground: ColorName, least: number])[] = [
  ["ink", "ground", TEXT],
  ["ink", "paper", TEXT],
  ["soft", "ground", TEXT],
  ["soft", "paper", TEXT],
  ["brand", "ground", TEXT],
  ["brand", "paper", TEXT],
  ["on_brand", "brand", TEXT],
  ["accent", "ground", TEXT],
  ["accent", "paper", TEXT],
  ["line", "ground", PART],
  ["line", "paper", PART],
];

/** Throws `invalid` for colours that people cannot tell apart, and names the nearest ones that they can. */
export function checkLegible({ light, dark }: Pick<Theme, "light" | "dark">): void {
  const details = [...illegible("light", light), ...illegible("dark", dark)];
  const [first] = details;
  if (!first) return;
  throw new Fault("invalid", {
    message: `${first.field} ${first.message}. Pages must be legible (WCAG 2.2 AA).`,
    details,
  });
}

function illegible(mode: "light" | "dark", colors: Colors): FaultDetail[] {
  const failing = new Map<ColorName, string>();
  for (const [name, ground, least] of PAIRS) {
    const ratio = contrast(colors[name], colors[ground]);
    if (ratio >= least || failing.has(name)) continue;
    failing.set(
      name,
      `(${colors[name]}) has a contrast of ${down(ratio)} with ${ground} (${colors[ground]}), and needs ${least}; ${wayOut(name, colors)}`,
    );
  }
  return Array.from(failing, ([name, message]) => ({ field: `${mode}.${name}`, message }));
}

function wayOut(name: ColorName, colors: Colors): string {
  const demands = PAIRS.flatMap(([color, ground, least]): Demand[] =>
    color === name ? [{ ground: colors[ground], least }] : [],
  );
  const nearest = nearestPassing(colors[name], demands);
  if (nearest !== null) return `the nearest colour that passes is ${nearest}`;
  return "no shade passes on these grounds; bring ground and paper closer to each other";
}

/** Rounded down: 4.499 is not 4.5. */
function down(ratio: number): string {
  return (Math.floor(ratio * 100) / 100).toFixed(2);
}
