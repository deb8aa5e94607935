import { html } from "hono/html";
import { type Desk, isAdmin } from "#transports/console/desk.ts";
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
import { fieldsOf } from "#transports/console/records/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { say } from "#transports/console/words/say.ts";
import { PART, settingPage } from "./settings.ts";

const LIMITS = [
  "approval_over_players",
  "approval_over_cost",
  "approval_four_eyes",
  "approval_growth_percent",
];

/** The limits above which people approve, which admins set. */
export async function limitsPage(desk: Desk, again?: Filled): Promise<Response> {
  const property = await desk.run("get_property");
  const words = say().limits;
  if (!isAdmin(desk)) {
    const set = Object.fromEntries(LIMITS.map((name) => [name, property[name]]));
    return settingPage(
      desk,
      "limits",
      html`<p>${words.adminSetsThem}</p>${fieldsOf(set, desk.property.timezone)}`,
    );
  }
  const filled = again ?? { values: property };
  const fourEyes: Option[] = [
    ["off", words.fourEyesOff],
    ["on", words.fourEyesOn],
  ];
  const form = formOf(desk, {
    action: `${PART}/limits`,
    filled,
    kind: "narrow",
    content: html`${versionField(property)}<p>${words.whatWaits}</p>${input(filled, { name: "approval_over_players", label: words.players, type: "number", hint: words.playersHint })}${input(filled, { name: "approval_over_cost", label: words.cost, type: "number", hint: words.costHint })}${select(filled, { name: "approval_four_eyes", label: words.fourEyes, options: fourEyes })}${input(filled, { name: "approval_growth_percent", label: words.growth, type: "number", isRequired: true, hint: words.growthHint })}<div class="acts"><button>${say().general.save}</button></div>`,
  });
  return settingPage(desk, "limits", form);
}

export function saveLimits(desk: Desk): Promise<Response> {
  const { form } = desk;
  const numberIn = (name: string) => {
    const text = form.get(name)?.trim() ?? "";
    return text === "" ? null : Number(text);
  };
  return tried(
    async () => {
      checkSeen(desk, await desk.run("get_property"));
      await desk.run("update_property", {
        approval_over_players: numberIn("approval_over_players"),
        approval_over_cost: numberIn("approval_over_cost"),
        approval_four_eyes: form.get("approval_four_eyes") ?? "",
        approval_growth_percent: numberIn("approval_growth_percent"),
      });
      return redirect(`${PART}/limits`);
    },
    (fault) => limitsPage(desk, { values: form, fault }),
  );
}
