import { type KnownValues, knownValues, knownValuesSql, nothingHas } from "#db/query/known-values.ts";
import { type Fragment, raw, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { EVENT_NAME } from "#tools/events/player-events.table.ts";
import { COUNTRY_FORM, STATE_FORM } from "#tools/people/places.ts";
import { TIME_ZONE_FORM } from "#tools/people/time-zones.ts";
import type { Condition, Group } from "./rules/compile.ts";

/** Operators by which a rule names whole values. */
const NAMING: ReadonlySet<string> = new Set(["eq", "in", "has_any", "has_all"]);

/** Columns whose values are the property's own words, and a value in the form in which it is stored. */
const VOCABULARY: Readonly<Record<string, (text: string, home: string) => string | null>> = {
  tier: (text) => text,
  tags: (text) => text,
  state: STATE_FORM.fit,
  country: COUNTRY_FORM.fit,
  timezone: TIME_ZONE_FORM.fit,
  phone_type: (text) => text,
};
const EVENT = new RegExp(`^event\\.(${EVENT_NAME})\\.`);

/** Sentences on rules that match nobody: the values that no player has, and the values that there are. */
export async function whyNobody(context: Tenant, rules: Partial<Group>): Promise<string[]> {
  const said: string[] = [];
  for (const { field, value } of conditionsIn(rules)) {
    const stored = [value]
      .flat()
      .map((one) => VOCABULARY[field]!(String(one), context.property.default_country));
    const known = await valuesOf(context, field);
    const missing = stored.filter((one) => one !== null && !known.values.includes(one));
    said.push(...missing.map((one) => nothingHas(field, String(one), known)));
  }
  return [...new Set([...said, ...(await unknownEvents(context, rules))])];
}

/** Names of events that nobody has reported. */
async function unknownEvents(context: Tenant, rules: Partial<Group>): Promise<string[]> {
  const names = conditionsOf(rules).flatMap(({ field }) => EVENT.exec(field)?.[1] ?? []);
  if (names.length === 0) return [];
  const events = sql`player_events where property_id = ${context.property.id}::uuid`;
  const known = await valuesIn(context, sql`name`, events);
  return names.filter((name) => !known.values.includes(name)).map((name) => nothingHas("event", name, known));
}

function conditionsIn(rules: Partial<Group>): Condition[] {
  return conditionsOf(rules).filter(
    ({ field, operator }) => Object.hasOwn(VOCABULARY, field) && NAMING.has(operator),
  );
}

function conditionsOf({ conditions = [], groups = [] }: Partial<Group>): Condition[] {
  return [...conditions, ...groups.flatMap(conditionsOf)];
}

async function valuesOf(context: Tenant, column: string): Promise<KnownValues> {
  const value = raw(column === "tags" ? "unnest(tags)" : column);
  const players = sql`players where property_id = ${context.property.id}::uuid and deleted_at is null`;
  return valuesIn(context, value, players);
}

async function valuesIn({ sql: transaction }: Tenant, value: Fragment, from: Fragment): Promise<KnownValues> {
  const rows = await transaction<{ value: string; looked: number }[]>`${knownValuesSql(value, from)}`;
  return knownValues(rows.map(({ value: known, looked }) => [known, looked]));
}
