import { html } from "hono/html";
import { z } from "zod";
import { RecipeSettings } from "#tools/journeys/recipes/recipes.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { type Filled, formOf, input, type Option, select, tried } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { words } from "#transports/console/values.ts";
import { inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART } from "./list.ts";

interface Setting {
  name: string;
  type: string;
  format?: string;
  description?: string;
  default?: string | number;
}

/** The settings of each recipe, from its schema. */
const RECIPES: readonly { recipe: string; settings: Setting[] }[] = RecipeSettings.options.map((option) => {
  const { recipe, ...rest } = option.shape;
  const settings = Object.entries(rest).map(([name, schema]) => {
    const described = z.toJSONSchema(schema, { io: "input" }) as Partial<Setting>;
    return { type: "string", ...described, name };
  });
  return { recipe: recipe.value, settings };
});

/** The recipes to choose from, each with its settings. */
export async function recipesPage(desk: Desk, filled: Filled = { values: {} }): Promise<Response> {
  const { rows } = await desk.list("segments", {
    // Nobody enters a fixed list by rules.
    filters: { "type.eq": "dynamic" },
    select: "id,name",
    order: "name.asc",
    limit: 200,
  });
  const chosen = filled.values instanceof URLSearchParams ? filled.values.get("recipe") : null;
  const meanings: Readonly<Record<string, string>> = say().journeys.recipes;
  const cards = RECIPES.map(({ recipe, settings }) => {
    const own = recipe === chosen ? filled : { values: {} };
    return html`<details class="pane"${recipe === chosen ? html` open` : ""}><summary><b>${words(recipe)}</b>. ${meanings[recipe] ?? ""}</summary>${formOf(
      desk,
      {
        action: `${PART}/new`,
        filled: own,
        kind: "bare narrow",
        content: html`<input type="hidden" name="recipe" value="${recipe}">${settings.map((one) => settingField(recipe, one, own, rows))}<div class="acts"><button>${say().journeys.makeTheDraft}</button></div>`,
      },
    )}</details>`;
  });
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().general.journeys },
    heading: say().journeys.newJourney,
    content: html`<p>${say().journeys.startFromUsualJourneyBecomes}</p><div class="form bare">${cards}</div>`,
  });
}

/** Makes the draft of a recipe, and shows it. */
export function createJourney(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      const chosen = RECIPES.find(({ recipe }) => recipe === form.get("recipe"));
      const given = (chosen?.settings ?? []).flatMap(({ name, type }) => {
        const text = form.get(`${chosen!.recipe}.${name}`)?.trim() ?? "";
        if (text === "") return [];
        return [[name, type === "string" ? text : Number(text)]];
      });
      const settings = { recipe: form.get("recipe"), ...Object.fromEntries(given) };
      const name = words(String(form.get("recipe")));
      const { journey } = await desk.once<{ journey: Row }>("create_journey_from_recipe", { settings, name });
      return redirect(`${PART}/${journey.id}`);
    },
    (fault) => recipesPage(desk, { values: form, fault }),
  );
}

function settingField(recipe: string, setting: Setting, filled: Filled, segments: readonly Row[]): Html {
  const { name, type, format, description, default: usual } = setting;
  const field = {
    name: `${recipe}.${name}`,
    label: words(name.replace(/_id$/, "")),
    hint: inEnglish(description ?? ""),
  };
  if (format === "uuid") {
    const options = segments.map((one): Option => [String(one.id), String(one.name)]);
    return select(filled, {
      ...field,
      label: say().general.segment,
      options: [["", say().journeys.chooseASegment], ...options],
      isRequired: true,
    });
  }
  const values =
    filled.values instanceof URLSearchParams
      ? filled.values
      : { [field.name]: usual ?? "", ...filled.values };
  return input({ ...filled, values }, { ...field, type: type === "string" ? "text" : "number" });
}
