import { createHash } from "node:crypto";
import type { Theme } from "./theme.ts";

/** The paths of a property's style sheet and logo. They change with the theme. */
export function themePaths(propertyId: string, theme: Theme): { style: string; logo: string | null } {
  const base = `/theme/${propertyId}/${themeVersion(theme)}`;
  return { style: `${base}.css`, logo: theme.logo === null ? null : `${base}/logo` };
}

/** Another one for each look. */
export function themeVersion({ light, dark, logo, typeface }: Theme): string {
  return createHash("sha256")
    .update(JSON.stringify([light, dark, logo, typeface]))
    .digest("base64url")
    .slice(0, 12);
}
