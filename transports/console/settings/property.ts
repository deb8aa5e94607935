import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import {
  area,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  textsOf,
  tried,
} from "#transports/console/fields.ts";
import { redirect } from "#transports/console/sign-in.ts";
import { fieldsOf } from "#transports/console/values.ts";
import { PART, settingPage } from "./settings.ts";

const TEXTS = [
  ...(["legal_name", "postal_address", "privacy_policy_url", "responsible_gaming_footer"] as const),
  ...(["from_email", "from_name", "help_text", "sms_stop_text"] as const),
] as const;
const NEEDED = [
  "name",
  "timezone",
  "default_country",
  "min_age",
  "email_consent_mode",
  "tracking",
  "approval_mail",
] as const;

/** The settings of the property. */
export async function propertyPage(desk: Desk, again?: Filled): Promise<Response> {
  const property = await desk.run("get_property");
  if (!desk.canWrite) return settingPage(desk, "property", fieldsOf(property, desk.property.timezone));
  const tiers = (property.tiers as string[]).join(", ");
  const filled = again ?? { values: { ...property, tiers } };
  const consent: Option[] = [
    ["opt_in", "Only players who have said yes"],
    ["opt_out", "All players who have not said no"],
  ];
  const tracking: Option[] = [
    ["on", "Count opens and clicks"],
    ["off", "Count none, and leave links as they are"],
  ];
  const notices: Option[] = [
    ["on", "Managers get a mail, one in 30 minutes"],
    ["off", "No mail"],
  ];
  const masking: Option[] = [
    ["false", "Whole"],
    ["true", "Masked, and without files"],
  ];
  const form = formOf(desk, {
    action: `${PART}/property`,
    filled,
    kind: "narrow",
    content: html`<fieldset><legend>Who sends</legend>${input(filled, { name: "name", label: "Name", isRequired: true, most: 200 })}${input(filled, { name: "legal_name", label: "Legal name", most: 300 })}${input(filled, { name: "postal_address", label: "Postal address", most: 500, hint: "Every marketing email must show it." })}<div class="row">${input(filled, { name: "from_name", label: "Sender's name", most: 200 })}${input(filled, { name: "from_email", label: "Sender's email", type: "email", most: 320 })}</div></fieldset><fieldset><legend>Where and who</legend><div class="row">${input(filled, { name: "timezone", label: "Time zone", isRequired: true, placeholder: "America/Los_Angeles" })}${input(filled, { name: "default_country", label: "Country", isRequired: true, most: 2, hint: "ISO 3166, such as US" })}${input(filled, { name: "min_age", label: "Least age", type: "number", isRequired: true })}</div>${input(filled, { name: "tiers", label: "Tiers, lowest first", hint: "With commas between them" })}</fieldset><fieldset><legend>The law</legend>${select(filled, { name: "email_consent_mode", label: "Email goes to", options: consent })}${select(filled, { name: "tracking", label: "Tracking", options: tracking })}${select(filled, { name: "mask_for_analysts", label: "Analysts see names and addresses", options: masking })}${input(filled, { name: "privacy_policy_url", label: "Privacy policy", type: "url", most: 2000 })}${area(filled, { name: "responsible_gaming_footer", label: "Responsible gaming footer", rows: 3 })}</fieldset><fieldset><legend>Approvals</legend>${select(filled, { name: "approval_mail", label: "When something waits for approval", options: notices })}</fieldset><fieldset><legend>Replies to texts</legend>${input(filled, { name: "help_text", label: "To HELP", most: 320 })}${input(filled, { name: "sms_stop_text", label: "To STOP", most: 320 })}</fieldset><div class="acts"><button>Save</button></div>`,
  });
  return settingPage(desk, "property", form);
}

export function saveProperty(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      const needed = Object.fromEntries(NEEDED.map((name) => [name, form.get(name)?.trim() ?? ""]));
      const tiers = (form.get("tiers") ?? "").split(",").map((one) => one.trim());
      await desk.run("update_property", {
        ...needed,
        min_age: Number(needed.min_age),
        mask_for_analysts: form.get("mask_for_analysts") === "true",
        ...textsOf(form, TEXTS),
        tiers: tiers.filter((one) => one !== ""),
      });
      return redirect(`${PART}/property`);
    },
    (fault) => propertyPage(desk, { values: form, fault }),
  );
}
