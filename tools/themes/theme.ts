import { createHash } from "node:crypto";
import { z } from "zod";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { isLogo, LOGO_KINDS } from "./logo/logo.ts";

/** The colours of a theme: the custom properties of players' pages and mails, and the use of each. */
export const COLORS = {
  ground: "Behind everything",
  paper: "Cards and fields",
  ink: "Text",
  soft: "Small text, such as dates",
  line: "The border of fields and quiet buttons",
  brand: "Buttons, links and the bar at the top",
  on_brand: "Text on the brand's colour",
  accent: "Offers, codes and the mark of a new message",
} as const;
export type ColorName = keyof typeof COLORS;
const NAMES = Object.keys(COLORS) as ColorName[];

/** The typefaces of pages and mails: the fonts of devices alone, so no font is fetched from anywhere. */
export const TYPEFACES = {
  system: "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Noto Sans SC',Arial,sans-serif",
  serif: "Georgia,'Noto Serif','Noto Serif SC','Times New Roman',serif",
  humanist: "'Trebuchet MS',Candara,'Noto Sans','Noto Sans SC',Tahoma,sans-serif",
  geometric: "'Avenir Next',Avenir,'Century Gothic',Montserrat,'Noto Sans SC',Arial,sans-serif",
} as const;
const TYPEFACE_NAMES = Object.keys(TYPEFACES) as (keyof typeof TYPEFACES)[];

export const LANGUAGES = ["en", "es", "fr", "de", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

const Color = z
  .string()
  .regex(/^#[0-9a-f]{6}$/i, "must be a colour such as #7a1f2b")
  .overwrite((text) => text.toLowerCase());

const Colors = z.strictObject(
  Object.fromEntries(NAMES.map((name) => [name, Color.describe(COLORS[name])])) as Record<
    ColorName,
    typeof Color
  >,
);
export type Colors = z.output<typeof Colors>;

const MOST_LOGO_CHARACTERS = 44_000;

/** The settings of a theme, all to be given or left as they are. */
export const settings = {
  name: z
    .string()
    .trim()
    .min(1)
    .max(80)
    .nullable()
    .describe("The name at the top of pages and mails. null: the property's"),
  logo: z
    .string()
    .max(MOST_LOGO_CHARACTERS)
    .refine(isLogo, `must be the data URL of ${LOGO_KINDS}`)
    .nullable()
    .describe("Beside the name: data:image/png;base64,… of at most 32 kB. null: none"),
  typeface: z.enum(TYPEFACE_NAMES).describe("The fonts of pages and mails, which every device has"),
  language: z.enum(LANGUAGES).describe("For players whose own language is unknown or not among these"),
  responsible_gaming_url: z
    .url({ protocol: /^https$/ })
    .max(2000)
    .nullable()
    .describe(
      "The page on which a player takes a break or excludes themselves, linked on every player's page",
    ),
  join_url: z
    .url({ protocol: /^https$/ })
    .max(2000)
    .nullable()
    .describe(
      "The page on which people join or sign in. The button of a shared link leads there, with the share's id as the parameter share. null: shared links lead nowhere",
    ),
};

export const Theme = z.object({
  ...settings,
  light: Colors.describe("The colours by day"),
  dark: Colors.describe("The colours where the player's device is in dark mode"),
});
export type Theme = z.output<typeof Theme>;

/** The theme of a property that has set none. */
export const DEFAULT_THEME: Theme = {
  name: null,
  logo: null,
  typeface: "system",
  language: "en",
  responsible_gaming_url: null,
  join_url: null,
  light: {
    ground: "#f3f1ec",
    paper: "#ffffff",
    ink: "#1b1f24",
    soft: "#5a6472",
    line: "#8a8578",
    brand: "#7a1f2b",
    on_brand: "#ffffff",
    accent: "#8a5a00",
  },
  dark: {
    ground: "#131519",
    paper: "#1d2025",
    ink: "#eceae6",
    soft: "#a9adb5",
    line: "#757b85",
    brand: "#e2838f",
    on_brand: "#1b1013",
    accent: "#e5b64e",
  },
};

/** The name by which players know the casino: at the top of pages and mails, and in their texts. */
export function shownName({ name }: Pick<Theme, "name">, property: Pick<Property, "name">): string {
  return name ?? property.name;
}

/** The property's theme; the default where it has set none. */
export async function themeOf({ sql, property }: Tenant): Promise<Theme> {
  const [row] = await sql<Theme[]>`
    select name, logo, typeface, language, responsible_gaming_url, join_url, light, dark from property_theme
    where property_id = ${property.id}`;
  return row ?? DEFAULT_THEME;
}

/** The look of a property's mails: its theme, its name, and the address of its logo. */
export interface Look {
  theme: Pick<Theme, "light" | "dark" | "typeface" | "language">;
  name: string;
  logoUrl: string | null;
}

export async function lookOf(context: Tenant & Pick<Context, "config">): Promise<Look> {
  const { property, config } = context;
  const theme = await themeOf(context);
  const { logo } = themePaths(property.id, theme);
  return { theme, name: shownName(theme, property), logoUrl: logo && config.baseUrl + logo };
}

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
