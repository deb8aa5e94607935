import { isDeepStrictEqual } from "node:util";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";

/** A rule as its form has it: texts alone. */
export interface Rule {
  field: string;
  operator: string;
  value: string;
  /** The name of the event, where the field is one. */
  event: string;
  /** The number of days to look back; empty: all time. */
  days: string;
}

/** The rules of a form: groups of rules, of which the first stands by itself. */
export interface Draft {
  name: string;
  description: string;
  /** How the groups join. */
  logic: "and" | "or";
  groups: { logic: "and" | "or"; rules: Rule[] }[];
}

const NEW_RULE: Rule = { field: "tier", operator: "in", value: "", event: "", days: "" };
export const NEW_DRAFT: Draft = {
  name: "",
  description: "",
  logic: "and",
  groups: [{ logic: "and", rules: [NEW_RULE] }],
};

const NAME = /^g(\d{1,2})r(\d{1,3})\.(field|operator|value|event|days)$/;

/** The draft that a posted form holds. */
export function draftIn(form: URLSearchParams): Draft {
  const groups = new Map<number, Map<number, Rule>>([[0, new Map()]]);
  for (const [name, text] of form) {
    const [, group, rule, part] = NAME.exec(name) ?? [];
    if (part === undefined) continue;
    const rules = groups.get(Number(group)) ?? new Map<number, Rule>();
    groups.set(Number(group), rules);
    const known = rules.get(Number(rule)) ?? { ...NEW_RULE, field: "", operator: "" };
    rules.set(Number(rule), { ...known, [part]: text.trim() });
  }
  const logicOf = (name: string) => (form.get(name) === "or" ? "or" : "and");
  return {
    name: form.get("name")?.trim() ?? "",
    description: form.get("description")?.trim() ?? "",
    logic: logicOf("logic"),
    groups: [...groups]
      .sort(([one], [other]) => one - other)
      .map(([index, rules]) => ({ logic: logicOf(`g${index}.logic`), rules: [...rules.values()] })),
  };
}

/** The change of the draft by a button of the form: a rule or a group more or less. */
export function changed(draft: Draft, act: string): Draft {
  const [verb, group, rule] = act.split(":");
  const at = Number(group);
  if (verb === "group") {
    return { ...draft, groups: [...draft.groups, { logic: "or", rules: [NEW_RULE] }] };
  }
  if (verb === "rule") {
    const groups = draft.groups.map((one, index) =>
      index === at ? { ...one, rules: [...one.rules, NEW_RULE] } : one,
    );
    return { ...draft, groups };
  }
  if (verb !== "drop") return draft;
  const groups = draft.groups.map((one, index) =>
    index === at ? { ...one, rules: one.rules.filter((_, place) => place !== Number(rule)) } : one,
  );
  return { ...draft, groups: groups.filter(({ rules }, index) => index === 0 || rules.length > 0) };
}

/** The rules of a draft, as operations take them. */
export function rulesOf(draft: Draft, typeOf: (field: string) => string): Group {
  const [first, ...more] = draft.groups.map(({ logic, rules }) => ({
    logic,
    conditions: rules.filter(({ field }) => field !== "").map((rule) => conditionOf(rule, typeOf)),
  }));
  if (more.length === 0) return { ...first!, groups: [] };
  return { logic: draft.logic, conditions: [], groups: [first!, ...more].filter(isFilled) };
}

function isFilled({ conditions }: Group): boolean {
  return conditions.length > 0;
}

const WITHOUT_VALUE = new Set(["is_set", "is_not_set", "is_empty", "in_segment", "not_in_segment"]);
const WITH_LIST = new Set(["in", "not_in", "has_any", "has_all", "has_none", "between", "not_between"]);

function conditionOf(rule: Rule, typeOf: (field: string) => string): Condition {
  const operator = rule.operator as Condition["operator"];
  const field = rule.field === "event" ? `event.${rule.event}.count` : rule.field;
  if (WITHOUT_VALUE.has(operator)) return { field, operator };
  const type = operator.endsWith("_days") ? "number" : typeOf(field);
  const value = WITH_LIST.has(operator)
    ? listIn(rule.value).map((one) => typed(one, type))
    : typed(rule.value, type);
  if (rule.field !== "event" || rule.days === "") return { field, operator, value };
  return { field, operator: "is", value: { op: operator, n: value, within_days: Number(rule.days) } };
}

const ITEM = /\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/y;

/** The values of a list in one line: commas part them, and quotes hold one that has a comma itself. */
function listIn(text: string): string[] {
  const items: string[] = [];
  ITEM.lastIndex = 0;
  do {
    const [, quoted, plain] = ITEM.exec(text) ?? [];
    if (quoted === undefined && plain === undefined) return text.split(",").map((one) => one.trim());
    items.push(quoted?.replaceAll('""', '"') ?? plain!.trim());
  } while (ITEM.lastIndex < text.length);
  return items;
}

function listText(values: readonly unknown[]): string {
  const quoted = (text: string) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return values.map((value) => quoted(String(value))).join(", ");
}

/** Numbers and yes or no by the field's type. The operation refuses any other text, and names it. */
function typed(text: string, type: string): unknown {
  if (type === "number") return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  if (type === "boolean" || type === "flag") return text !== "no" && text !== "false";
  return text;
}

export interface SavedSegment extends Group {
  name: string;
  description: string | null;
  version: number;
}

/** The draft of a saved segment; null where a form would not save its rules as they are. */
export function draftOf(
  { name, description, logic, conditions, groups }: SavedSegment,
  typeOf: (field: string) => string,
): Draft | null {
  const nested = groups ?? [];
  if (nested.some((one) => (one.groups ?? []).length > 0)) return null;
  const all = [...(conditions.length > 0 || nested.length === 0 ? [{ logic, conditions }] : []), ...nested];
  const staysSame = (one: Condition) => isDeepStrictEqual(conditionOf(ruleOf(one), typeOf), one);
  if (!all.every((one) => one.conditions.every(staysSame))) return null;
  const drafted = all.map((one) => ({ logic: one.logic, rules: one.conditions.map(ruleOf) }));
  return { name, description: description ?? "", logic, groups: drafted };
}

function ruleOf({ field, operator, value }: Condition): Rule {
  const event = /^event\.(.+)\.count$/.exec(field)?.[1];
  const rule: Rule = { ...NEW_RULE, field: event ? "event" : field, operator, event: event ?? "", value: "" };
  if (typeof value === "object" && value !== null && "within_days" in value) {
    const { op, n, within_days } = value as { op: string; n: unknown; within_days: number };
    return { ...rule, operator: op, value: String(n), days: String(within_days) };
  }
  if (Array.isArray(value)) return { ...rule, value: listText(value) };
  if (typeof value === "boolean") return { ...rule, value: value ? "yes" : "no" };
  return { ...rule, value: value === undefined || value === null ? "" : String(value) };
}
