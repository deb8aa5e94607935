import { CHANNELS } from "#tools/compliance/channels.ts";
import { describeFields } from "#tools/segments/rules/compile.ts";
import type { Desk } from "#transports/console/desk.ts";
import type { Option } from "#transports/console/fields.ts";
import { say } from "#transports/console/words/say.ts";
import { fieldWords, operatorWords } from "./words.ts";

/** The fields that the form offers, and their types. */
export interface Choices {
  groups: { name: string; options: Option[] }[];
  typeOf(field: string): string;
  names: ReadonlyMap<string, string>;
}

/** Columns that people build rules of, in the order of their use. */
const COLUMNS = [
  ...(["tier", "adt", "last_visit_at", "lifetime_theo", "coin_in", "status", "tags"] as const),
  ...(["state", "country", "postal_code", "language", "birth_date", "created_at"] as const),
  ...(["email", "phone", "email_status", "player_id", "first_name", "last_name"] as const),
] as const;

const CUSTOM_TYPES: Readonly<Record<string, string>> = {
  enum: "text",
  datetime: "timestamp",
  text_list: "list",
};

/** The fields of the property: columns, its own fields, consents, segments and events. */
export async function choicesOf(desk: Desk): Promise<Choices> {
  const [customs, segments] = await Promise.all([
    desk.list("custom_fields", { order: "label.asc", limit: 200 }),
    desk.list("segments", { select: "id,name", order: "name.asc", limit: 200 }),
  ]);
  const columnTypes = new Map(
    Object.entries(describeFields().columns_by_type).flatMap(([type, names]) =>
      names.map((name): [string, string] => [name, type]),
    ),
  );
  const own = customs.rows.map(({ key, label, type }) => ({
    field: `custom.${key}`,
    label: String(label),
    type: CUSTOM_TYPES[String(type)] ?? String(type),
  }));
  const ownTypes = new Map(own.map(({ field, type }) => [field, type]));
  const names = new Map(segments.rows.map(({ id, name }) => [String(id), String(name)]));
  const consents = CHANNELS.map(
    (channel): Option => [`consent.${channel}`, fieldWords(`consent.${channel}`)],
  );
  const inSegments = [...names].map(
    ([id, name]): Option => [`segment.${id}`, say().segments.inSegment(name)],
  );
  const groups = [
    { name: say().general.player, options: COLUMNS.map((name): Option => [name, fieldWords(name)]) },
    { name: say().segments.ownFields, options: own.map(({ field, label }): Option => [field, label]) },
    { name: say().segments.events, options: [["event", say().segments.numberOfEvents] as Option] },
    { name: say().general.consent, options: consents },
    { name: say().segments.segments, options: inSegments },
  ];
  return {
    groups: groups.filter(({ options }) => options.length > 0),
    names,
    typeOf: (field) =>
      ownTypes.get(field) ?? columnTypes.get(field) ?? FAMILY_TYPES[field.split(".")[0]!] ?? "text",
  };
}

const FAMILY_TYPES: Readonly<Record<string, string>> = {
  consent: "boolean",
  suppressed: "flag",
  campaign: "flag",
  event: "number",
  game: "number",
  segment: "segment",
  last_sent: "timestamp",
};

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  text: ["eq", "neq", "in", "not_in", "contains", "not_contains", "starts_with", "is_set", "is_not_set"],
  number: ["gte", "lte", "gt", "lt", "eq", "between", "is_set", "is_not_set"],
  date: ["anniversary_in_next_days", "before", "after", "between", "is_set", "is_not_set"],
  timestamp: ["in_last_days", "not_in_last_days", "before", "after", "is_set", "is_not_set"],
  boolean: ["eq"],
  flag: ["eq"],
  list: ["has_any", "has_all", "has_none", "is_empty"],
  segment: ["in_segment", "not_in_segment"],
};

/** The operators for a field. Tiers have an order; a rule that came otherwise keeps its operator. */
export function operatorsOf(field: string, type: string, current: string): Option[] {
  const usual = OPERATORS[type] ?? OPERATORS.text!;
  const names = field === "tier" ? ["in", "gte", "lte", ...usual.filter((one) => one !== "in")] : usual;
  const all = current === "" || names.includes(current) ? names : [...names, current];
  return all.map((name) => [name, operatorWords(name)]);
}
