import { html } from "hono/html";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";
import { labelOf, words } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

/** An operator as people say it. */
export function operatorWords(operator: string): string {
  const { operators } = say().segments;
  const isKnown = Object.hasOwn(operators, operator);
  return isKnown ? operators[operator as keyof typeof operators] : operator.replaceAll("_", " ");
}

/** A field's name as people say it. `names` are of segments, campaigns and journeys, by their ids. */
export function fieldWords(field: string, names: ReadonlyMap<string, string> = new Map()): string {
  const [family = "", key = "", ...rest] = field.split(".");
  const named = names.get(key) ?? key;
  switch (rest.length === 0 && key === "" ? "" : family) {
    case "consent":
      return say().general.consentFor(labelOf(key));
    case "suppressed":
      return say().segments.suppressedFor(labelOf(key));
    case "custom":
      return words(named);
    case "segment":
      return say().segments.inSegment(named);
    case "event":
      return rest[0] === "count"
        ? say().segments.eventCount(key)
        : say().segments.eventOther(words(key), rest.join(" "));
    case "campaign":
      return say().segments.campaignOther(named, rest.join(" "));
    case "journey":
      return say().segments.journeyOther(named, rest.join(" "));
    case "last_sent":
      return say().segments.lastMessageBy(labelOf(key));
    default:
      return ownWords(field) ?? words(field);
  }
}

/** The name of a field whose own name is short for something. */
function ownWords(field: string): string | undefined {
  const { fields } = say().segments;
  return Object.hasOwn(fields, field) ? fields[field as keyof typeof fields] : undefined;
}

/** The rules in words, groups within groups. */
export function rulesInWords(
  { logic, conditions, groups = [] }: Group,
  names: ReadonlyMap<string, string> = new Map(),
): Html {
  const parts = [
    ...conditions.map((one) => html`<li>${conditionWords(one, names)}</li>`),
    ...groups.map((group) => html`<li>${groupInWords(group, names)}</li>`),
  ];
  if (parts.length === 0) return html`<p>${say().segments.everyPlayer}</p>`;
  if (parts.length === 1) return html`<ul class="inwords">${parts}</ul>`;
  return html`<p>${logic === "or" ? say().segments.anyOfThese : say().segments.allOfThese}</p><ul class="inwords">${parts}</ul>`;
}

/** A group of one rule is that rule. */
function groupInWords(group: Group, names: ReadonlyMap<string, string>): Html {
  const [only, ...others] = group.conditions;
  const isOne = only && others.length === 0 && (group.groups ?? []).length === 0;
  return isOne ? conditionWords(only, names) : rulesInWords(group, names);
}

function conditionWords({ field, operator, value }: Condition, names: ReadonlyMap<string, string>): Html {
  const name = html`<b>${fieldWords(field, names)}</b>`;
  const within = windowOf(value);
  if (within) return say().segments.eventWithin(name, operatorWords(within.op), within.n, within.within_days);
  const { ofDays } = say().segments;
  if (Object.hasOwn(ofDays, operator))
    return html`${name} ${ofDays[operator as keyof typeof ofDays](valueWords(value))}`;
  return html`${name} ${operatorWords(operator)} ${valueWords(value)}`;
}

interface Window {
  op: string;
  n: number;
  within_days: number;
}

function windowOf(value: unknown): Window | null {
  return typeof value === "object" && value !== null && "within_days" in value ? (value as Window) : null;
}

function valueWords(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return labelOf(value ? "yes" : "no");
  if (Array.isArray(value)) return value.map(valueWords).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
