import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import {
  area,
  checkSeen,
  type Filled,
  formOf,
  input,
  type Option,
  select,
  textsOf,
  tried,
  versionField,
} from "#transports/console/fields.ts";
import { fieldsOf } from "#transports/console/records/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { say } from "#transports/console/words/say.ts";
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
    ["opt_in", say().settings.onlyPlayersWhoHaveSaid],
    ["opt_out", say().settings.allPlayersWhoHaveNot],
  ];
  const tracking: Option[] = [
    ["on", say().settings.countOpensAndClicks],
    ["off", say().settings.countNoneAndLeaveLinks],
  ];
  const notices: Option[] = [
    ["on", say().settings.managersGetMailOneIn],
    ["off", say().settings.noMail],
  ];
  const masking: Option[] = [
    ["false", say().settings.whole],
    ["true", say().settings.maskedAndWithoutFiles],
  ];
  const form = formOf(desk, {
    action: `${PART}/property`,
    filled,
    kind: "narrow",
    content: html`${versionField(property)}<fieldset><legend>${say().settings.whoSends}</legend>${input(filled, { name: "name", label: say().general.name, isRequired: true, most: 200 })}${input(filled, { name: "legal_name", label: say().settings.legalName, most: 300 })}${input(filled, { name: "postal_address", label: say().settings.postalAddress, most: 500, hint: say().settings.everyMarketingEmailMustShow })}<div class="row">${input(filled, { name: "from_name", label: say().general.sendersName, most: 200 })}${input(filled, { name: "from_email", label: say().settings.sendersEmail, type: "email", most: 320 })}</div></fieldset><fieldset><legend>${say().settings.whereAndWho}</legend><div class="row">${input(filled, { name: "timezone", label: say().settings.timeZone, isRequired: true, placeholder: "America/Los_Angeles" })}${input(filled, { name: "default_country", label: say().settings.country, isRequired: true, most: 2, hint: say().settings.iso3166SuchAsUs })}${input(filled, { name: "min_age", label: say().settings.leastAge, type: "number", isRequired: true })}</div>${input(filled, { name: "tiers", label: say().settings.tiersLowestFirst, hint: say().settings.withCommasBetweenThem })}</fieldset><fieldset><legend>${say().settings.theLaw}</legend>${select(filled, { name: "email_consent_mode", label: say().settings.emailGoesTo, options: consent })}${select(filled, { name: "tracking", label: say().settings.tracking, options: tracking })}${select(filled, { name: "mask_for_analysts", label: say().settings.analystsSeeNamesAndAddresses, options: masking })}${input(filled, { name: "privacy_policy_url", label: say().settings.privacyPolicy, type: "url", most: 2000 })}${area(filled, { name: "responsible_gaming_footer", label: say().settings.responsibleGamingFooter, rows: 3 })}</fieldset><fieldset><legend>${say().approvals.approvals}</legend>${select(filled, { name: "approval_mail", label: say().settings.whenSomethingWaitsForApproval, options: notices })}</fieldset><fieldset><legend>${say().settings.repliesToTexts}</legend>${input(filled, { name: "help_text", label: say().settings.toHelp, most: 320 })}${input(filled, { name: "sms_stop_text", label: say().settings.toStop, most: 320 })}</fieldset><div class="acts"><button>${say().general.save}</button></div>`,
  });
  return settingPage(desk, "property", form);
}

export function saveProperty(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      checkSeen(desk, await desk.run("get_property"));
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
