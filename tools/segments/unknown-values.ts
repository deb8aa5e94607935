import { knownValues, knownValuesSql, nothingHas } from "#db/query/known-values.ts";
import { type Fragment, raw, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { EVENT_NAME } from "#tools/events/player-events.table.ts";
import { COUNTRY_FORM, STATE_FORM } from "#tools/people/places.ts";
import { TIME_ZONE_FORM } from "#tools/people/time-zones.ts";
import type { Condition, Group } from "./rules/compile.ts";

/** Operators by which a rule names whole values. */
const NAMING: ReadonlySet<string> = new Set([
  ...["eq", "in", "has_any", "has_all"],
  ...["neq", "not_in", "has_none"],
]);

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

/**
 * Sentences on the values of rules that no player has, with the values that there are. A rule that names such a value
 * finds nobody by it, and leaves nobody out.
 */
export async function unknownValues(context: Tenant, rules: Partial<Group>): Promise<string[]> {
  const said: string[] = [];
  // A large property's players are read once for a field.
  for (const [field, conditions] of Map.groupBy(conditionsIn(rules), (condition) => condition.field)) {
    const stored = conditions
      .flatMap(({ value }) => value)
      .map((one) => VOCABULARY[field]!(String(one), context.property.default_country))
      .filter((one) => one !== null);
    const column = raw(field === "tags" ? "unnest(tags)" : field);
    const players = sql`players where property_id = ${context.property.id}::uuid and deleted_at is null`;
    said.push(...(await missingFrom(context, { field, value: column, from: players }, stored)));
  }
  return [...new Set([...said, ...(await unknownEvents(context, rules))])];
}

/** Names of events that nobody has reported. */
async function unknownEvents(context: Tenant, rules: Partial<Group>): Promise<string[]> {
  const names = conditionsOf(rules).flatMap(({ field }) => EVENT.exec(field)?.[1] ?? []);
  if (names.length === 0) return [];
  const from = sql`player_events where property_id = ${context.property.id}::uuid`;
  return missingFrom(context, { field: "event", value: sql`name`, from }, names);
}

function conditionsIn(rules: Partial<Group>): Condition[] {
  return conditionsOf(rules).filter(
    ({ field, operator }) => Object.hasOwn(VOCABULARY, field) && NAMING.has(operator),
  );
}

function conditionsOf({ conditions = [], groups = [] }: Partial<Group>): Condition[] {
  return [...conditions, ...groups.flatMap(conditionsOf)];
}

/** Sentences on those of the `wanted` values that no row has. */
async function missingFrom(
  { sql: transaction }: Tenant,
  { field, value, from }: { field: string; value: Fragment; from: Fragment },
  wanted: string[],
): Promise<string[]> {
  const rows = await transaction<{ value: string; looked: number }[]>`${knownValuesSql(value, from)}`;
  const known = knownValues(rows.map(({ value: one, looked }) => [one, looked]));
  const unseen = wanted.filter((one) => !known.values.includes(one));
  if (known.complete || unseen.length === 0) return unseen.map((one) => nothingHas(field, one, known));
  // Only a part of the rows, or of their values, was looked at.
  const missing = await transaction<{ value: string }[]>`
    with known as materialized (select distinct ${value} as value from ${from})
    select w.value from unnest(${unseen}::text[]) w (value)
    where w.value not in (select value from known where value is not null)`;
  return missing.map(({ value: one }) => nothingHas(field, one, known));
}
