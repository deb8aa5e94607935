import { imageHead } from "./image.ts";

/** A logo stands in every page and mail, so a large one would cost every player. */
export const MOST_LOGO_BYTES = 32_768;
/** A small file can hold a huge picture, which a phone would unpack. */
const MOST_PIXELS = 2_000;

export const LOGO_KINDS = "a PNG, JPEG or WebP image of at most 32 kB and 2,000 by 2,000 pixels";

/** The logo of these bytes as a data URL; null where they are no such image. SVG is none: it can hold scripts. */
export function logoOf(bytes: Buffer): string | null {
  if (bytes.length > MOST_LOGO_BYTES) return null;
  const head = imageHead(bytes);
  if (head === null) return null;
  const isFair = (side: number) => side >= 1 && side <= MOST_PIXELS;
  if (!isFair(head.width) || !isFair(head.height)) return null;
  return `data:${head.type};base64,${bytes.toString("base64")}`;
}

/** Whether a data URL is a logo, with the type that its bytes have. */
export function isLogo(url: string): boolean {
  const [, data] = /^data:[\w/+.-]+;base64,([A-Za-z0-9+/]+={0,2})$/.exec(url) ?? [];
  return data !== undefined && logoOf(Buffer.from(data, "base64")) === url;
}
