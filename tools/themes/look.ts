import type { Context, Tenant } from "#runtime/operation/context.ts";
import { themePaths } from "./paths.ts";
import { shownName, type Theme, themeOf } from "./theme.ts";

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
