import { html } from "hono/html";
import type { Fault } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import { COLORS, type ColorName, LANGUAGES, type Theme } from "#tools/themes/theme.ts";
import type { Desk } from "#transports/console/desk.ts";
import {
  checkSeen,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  tried,
  versionField,
} from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { words } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { logoSection } from "./logo.ts";
import { PART, settingPage } from "./settings.ts";

const NAMES = Object.keys(COLORS) as ColorName[];
const LANGUAGE_WORDS = { en: "English", es: "Español", fr: "Français", de: "Deutsch", zh: "中文" };

/** The look of the pages that players see. */
export async function themePage(desk: Desk, again?: Filled, logoFault?: Fault): Promise<Response> {
  const theme = await desk.run<Theme>("get_property_theme");
  const filled = again ?? { values: flat(theme) };
  const languages = LANGUAGES.map((one): Option => [one, LANGUAGE_WORDS[one]]);
  const content = html`<p>${say().settings.inboxGamesPreferencesAndPush} <a href="/docs/inbox">${say().settings.moreAboutThePages}</a></p>${
    desk.canWrite
      ? formOf(desk, {
          action: `${PART}/theme`,
          filled,
          content: html`${versionField(versionOf(theme))}<div class="row">${input(filled, { name: "name", label: say().settings.nameAtTheTop, most: 80, hint: say().general.emptyThePropertys })}${select(filled, { name: "language", label: say().settings.language, options: languages, hint: say().settings.forPlayersWhoseOwnNot })}${input(filled, { name: "responsible_gaming_url", label: say().settings.pageToTakeBreak, type: "url", most: 2000 })}${input(filled, { name: "join_url", label: say().settings.pageToJoin, type: "url", most: 2000, hint: say().settings.sharedLinksLeadThere })}</div>${colors(filled, "light", say().settings.byDay)}${colors(filled, "dark", say().settings.inDarkMode)}<div class="acts"><button>${say().settings.saveTheTheme}</button></div>`,
        })
      : html`<p>${say().settings.managerChangesTheme}</p>`
  }${logoSection(desk, theme, logoFault)}`;
  return settingPage(desk, "theme", content);
}

export function saveTheme(desk: Desk): Promise<Response> {
  const { form } = desk;
  const side = (mode: "light" | "dark") =>
    Object.fromEntries(NAMES.map((name) => [name, form.get(`${mode}.${name}`) ?? ""]));
  return tried(
    async () => {
      checkSeen(desk, versionOf(await desk.run<Theme>("get_property_theme")));
      await desk.run("set_property_theme", {
        name: form.get("name")?.trim() || null,
        language: form.get("language") ?? "en",
        responsible_gaming_url: form.get("responsible_gaming_url")?.trim() || null,
        join_url: form.get("join_url")?.trim() || null,
        light: side("light"),
        dark: side("dark"),
      });
      return redirect(`${PART}/theme`);
    },
    (fault) => themePage(desk, { values: form, fault }),
  );
}

/** A theme counts no versions: its hash is one. The logo has a form of its own. */
function versionOf({ logo: _, ...theme }: Theme): { version: string } {
  return { version: canonicalHash(theme).toString("hex") };
}

function colors(filled: Filled, mode: "light" | "dark", legend: string): Html {
  const field = (name: ColorName) =>
    input(filled, {
      name: `${mode}.${name}`,
      label: words(name),
      type: "color",
      hint: say().settings.colors[name],
    });
  return html`<fieldset><legend>${legend}</legend><div class="swatches">${NAMES.map(field)}</div></fieldset>`;
}

function flat(theme: Theme): Record<string, unknown> {
  const side = (mode: "light" | "dark") =>
    NAMES.map((name) => [`${mode}.${name}`, theme[mode][name]] as const);
  return { ...theme, ...Object.fromEntries([...side("light"), ...side("dark")]) };
}
