import { html } from "hono/html";
import type { Option } from "#transports/console/fields.ts";
import { labelOf } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { type Choices, operatorsOf } from "./choices.ts";
import type { Rule } from "./draft.ts";

const WITHOUT_VALUE = new Set(["is_set", "is_not_set", "is_empty", "in_segment", "not_in_segment"]);

/** The fields of one rule. The operators are those of its field. */
export function ruleFields(place: { rule: Rule; group: number; place: number; choices: Choices }): Html {
  const { rule, group, choices } = place;
  const name = `g${group}r${place.place}`;
  const type = rule.field === "event" ? "number" : choices.typeOf(rule.field);
  const number = place.place + 1;
  const isKnown = choices.groups.some(({ options }) => options.some(([value]) => value === rule.field));
  const own: Option[] = isKnown || rule.field === "" ? [] : [[rule.field, rule.field]];
  const field = html`<div class="field"><label for="${name}.field">${say().segments.ruleNumber(number)}</label><select id="${name}.field" name="${name}.field">${optionsOf(own, rule.field)}${choices.groups.map((one) => html`<optgroup label="${one.name}">${optionsOf(one.options, rule.field)}</optgroup>`)}</select></div>`;
  const operator = html`<div class="field"><label class="unseen" for="${name}.operator">${say().segments.comparisonOfRule(number)}</label><select id="${name}.operator" name="${name}.operator">${optionsOf(operatorsOf(rule.field, type, rule.operator), rule.operator)}</select></div>`;
  const remove = html`<button class="plain-button" name="do" value="drop:${group}:${place.place}" aria-label="${say().segments.removeRule(number)}">${say().general.remove}</button>`;
  return html`<li class="rule">${field}${rule.field === "event" ? eventFields(name, rule, number) : ""}${operator}${valueField(name, rule, type, number)}${remove}</li>`;
}

function eventFields(name: string, rule: Rule, number: number): Html {
  return html`<div class="field"><label for="${name}.event">${say().segments.event}</label><input id="${name}.event" name="${name}.event" value="${rule.event}" maxlength="60" placeholder="${say().segments.visit}" aria-label="${say().segments.eventOfRule(number)}"></div><div class="field"><label for="${name}.days">${say().segments.withinDays}</label><input id="${name}.days" name="${name}.days" type="number" min="1" value="${rule.days}" placeholder="${say().segments.ever}" aria-label="${say().segments.daysOfRule(number)}"></div>`;
}

function valueField(name: string, rule: Rule, type: string, number: number): Html | "" {
  if (WITHOUT_VALUE.has(rule.operator)) return "";
  const label = html`<label class="unseen" for="${name}.value">${say().segments.valueOfRule(number)}</label>`;
  if (type === "boolean" || type === "flag") {
    const options: Option[] = [
      ["yes", labelOf("yes")],
      ["no", labelOf("no")],
    ];
    return html`<div class="field">${label}<select id="${name}.value" name="${name}.value">${optionsOf(options, rule.value)}</select></div>`;
  }
  const isDays = rule.operator.endsWith("_days");
  // A browser shows no moment of a day in a field for dates, and would send nothing in its place.
  const isDate = !isDays && takesDate(type, rule);
  const kind = isDate ? "date" : isDays ? "number" : "text";
  return html`<div class="field">${label}<input id="${name}.value" name="${name}.value" type="${kind}" value="${rule.value}" maxlength="2000" placeholder="${hintOf(rule.operator)}"></div>`;
}

function takesDate(type: string, { operator, value }: Rule): boolean {
  if ((type !== "date" && type !== "timestamp") || operator.includes("between")) return false;
  return value === "" || /^\d{4}-\d{2}-\d{2}$/.test(value);
}

function hintOf(operator: string): string {
  if (operator.endsWith("_days")) return say().segments.days;
  if (operator.includes("between")) return say().segments.fromTo;
  return ["in", "not_in", "has_any", "has_all", "has_none"].includes(operator)
    ? say().segments.goldPlatinum
    : say().segments.value;
}

function optionsOf(options: readonly Option[], chosen: string): Html[] {
  return options.map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : ""}>${text}</option>`,
  );
}
