/** A colour as sRGB, each part from 0 to 1. */
type Rgb = readonly [number, number, number];

/** The contrast ratio of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(rgbOf(one)), luminance(rgbOf(other))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** A ground, and the least contrast that a colour must have with it. */
export interface Demand {
  ground: string;
  least: number;
}

const STEPS = 500;

/** The colour of the same hue that meets all demands, as near in lightness as there is; null if none does. */
export function nearestPassing(color: string, demands: readonly Demand[]): string | null {
  const [lightness, a, b] = toOklab(rgbOf(color));
  for (let step = 0; step <= STEPS; step += 1) {
    for (const direction of [1, -1]) {
      const moved = lightness + (direction * step) / STEPS;
      if (moved < 0 || moved > 1) continue;
      const candidate = hexOf(inGamut(moved, a, b));
      if (demands.every(({ ground, least }) => contrast(candidate, ground) >= least)) return candidate;
    }
  }
  return null;
}

function rgbOf(hex: string): Rgb {
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return [part(1), part(3), part(5)];
}

function hexOf(rgb: Rgb): string {
  return `#${rgb
    .map((part) =>
      Math.round(part * 255)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function linear(part: number): number {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function gamma(part: number): number {
  return part <= 0.0031308 ? part * 12.92 : 1.055 * part ** (1 / 2.4) - 0.055;
}

function luminance([r, g, b]: Rgb): number {
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

// OKLab (Björn Ottosson, 2020): steps of its lightness look even, so the nearest shade looks nearest.
function toOklab(rgb: Rgb): Rgb {
  const [r, g, b] = [linear(rgb[0]), linear(rgb[1]), linear(rgb[2])];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([lightness, a, b]: Rgb): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** The colour of that lightness. Its chroma shrinks until a screen can show it. */
function inGamut(lightness: number, a: number, b: number): Rgb {
  for (let chroma = 1; chroma > 0; chroma -= 0.05) {
    const rgb = fromOklab([lightness, a * chroma, b * chroma]);
    if (rgb.every((part) => part >= -0.0001 && part <= 1.0001)) return clamped(rgb);
  }
  return clamped(fromOklab([lightness, 0, 0]));
}

function clamped(rgb: Rgb): Rgb {
  const clamp = (part: number) => Math.min(1, Math.max(0, part));
  return [clamp(rgb[0]), clamp(rgb[1]), clamp(rgb[2])];
}
