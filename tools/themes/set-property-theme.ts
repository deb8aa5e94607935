import { z } from "zod";
import { insertedValues } from "#db/sql.ts";
import { invalid } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { fieldWords } from "#runtime/operation/record-words.ts";
import { checkLegible } from "./legible.ts";
import { settings, Theme, themeOf } from "./theme.ts";

const colors = (when: string) =>
  Theme.shape.light.partial().optional().describe(`Colours ${when} to change; the others stay`);

export default tool({
  name: "set_property_theme",
  title: "Change the look of players' pages and mails",
  description:
    "Changes the given parts of the theme: of players' pages, and of mails whose HTML has no document of its own. Colours that people could not read (WCAG 2.2 AA) are refused, and the nearest ones that pass are named. Only a signed-in manager or the operator's command line may call it, not an API key.",
  scope: "write",
  effect: "change",
  asks: true,
  shapesMessages: true,
  access: "manager",
  input: { ...z.object(settings).partial().shape, light: colors("by day"), dark: colors("of dark mode") },
  output: Theme,
  faults: ["invalid"],
  async handler(context, { light, dark, ...rest }) {
    const { sql, property, audit, ask } = context;
    const given = Object.fromEntries(
      Object.entries({ ...rest, light, dark }).filter(([, one]) => one !== undefined),
    );
    if (Object.keys(given).length === 0) throw invalid("body", "names no part of the theme to change");
    const before = await themeOf(context);
    const theme: Theme = {
      ...before,
      ...withoutUndefined(rest),
      light: { ...before.light, ...withoutUndefined(light ?? {}) },
      dark: { ...before.dark, ...withoutUndefined(dark ?? {}) },
    };
    checkLegible(theme);
    const { logo, ...shown } = given;
    const words = fieldWords({
      ...shown,
      ...(logo !== undefined && { logo: logo === null ? null : "a new one" }),
    });
    ask?.({
      sentences: () => [
        `The pages and mails of ${JSON.stringify(property.name)} change for every player: ${words}.`,
      ],
    });
    await sql`
      insert into property_theme ${insertedValues({ property_id: property.id, ...theme })}
      on conflict (property_id) do update set name = excluded.name, logo = excluded.logo, typeface = excluded.typeface,
        language = excluded.language, responsible_gaming_url = excluded.responsible_gaming_url,
        join_url = excluded.join_url, light = excluded.light, dark = excluded.dark, updated_at = excluded.updated_at`;
    audit({ entity: "property_theme", entityId: property.id, diff: { changed: Object.keys(given) } });
    return theme;
  },
});

function withoutUndefined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
