import { isUuid } from "#db/text.ts";
import type { Service } from "#runtime/funnel/service.ts";
import {
  COLORS,
  type ColorName,
  DEFAULT_THEME,
  type Theme,
  TYPEFACES,
  themeOf,
  themeVersion,
} from "#tools/themes/theme.ts";
import type { Http } from "#transports/http/handlers.ts";

/** The style sheet of pages without a property. */
export const DEFAULT_STYLE = `/theme/default/${themeVersion(DEFAULT_THEME)}.css`;

/** The text of that style sheet. */
export const DEFAULT_SHEET = styleOf(DEFAULT_THEME);

/** Mounts the style sheets and logos of all themes. */
export function mountThemes(app: Http, { db, directory }: Service): void {
  app.get(DEFAULT_STYLE, () => send(DEFAULT_SHEET, "text/css; charset=utf-8", true));
  const themeNamed = async (propertyId: string): Promise<Theme> => {
    const property = isUuid(propertyId) ? await directory.property(propertyId) : null;
    if (!property) return DEFAULT_THEME;
    return db.asProperty(property.id, (sql) => themeOf({ sql, property }), { readOnly: true });
  };
  app.get("/theme/:property/:version{[\\w-]+\\.css}", async (c) => {
    const theme = await themeNamed(c.req.param("property"));
    const isCurrent = c.req.param("version") === `${themeVersion(theme)}.css`;
    return send(styleOf(theme), "text/css; charset=utf-8", isCurrent);
  });
  app.get("/theme/:property/:version/logo", async (c) => {
    const theme = await themeNamed(c.req.param("property"));
    const [, type, data] = /^data:(image\/\w+);base64,(.*)$/s.exec(theme.logo ?? "") ?? [];
    if (!type || !data) return new Response(null, { status: 404 });
    return send(Buffer.from(data, "base64"), type, c.req.param("version") === themeVersion(theme));
  });
}

/** The eight colours, each by day and in dark mode, and the typeface. */
function styleOf({ light, dark, typeface }: Theme): string {
  const names = Object.keys(COLORS) as ColorName[];
  const lines = names.map((name) => `--${name.replace("_", "-")}:light-dark(${light[name]},${dark[name]})`);
  return `:root{color-scheme:light dark;${lines.join(";")};--typeface:${TYPEFACES[typeface]}}`;
}

function send(body: string | Buffer<ArrayBuffer>, contentType: string, isCurrent: boolean): Response {
  return new Response(body, {
    headers: {
      "content-type": contentType,
      "cache-control": isCurrent ? "public, max-age=31536000, immutable" : "public, max-age=60",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
    },
  });
}
