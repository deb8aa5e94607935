import { type Fragment, raw, sql } from "#db/sql.ts";
import type { EventAsk, Field } from "./field.ts";
import type { Operator } from "./operator.ts";
import { days, type Position } from "./values.ts";

/** An aggregate over `player_events e`. */
export function eventAggregate(what: string): Pick<Field, "type" | "sql"> & { cast?: string } {
  if (what === "count") return { type: "number", sql: sql`count(*)` };
  if (what === "last_at") return { type: "timestamp", sql: sql`max(e.occurred_at)` };
  if (what === "first_at") return { type: "timestamp", sql: sql`min(e.occurred_at)` };
  const value = sql`(e.properties -> ${what.slice("sum:".length)}::text)`;
  // numeric, because a stored 1e400 fits no double precision and would fail the whole statement.
  const number = sql`case when jsonb_typeof(${value}) = 'number' then ${value}::numeric end`;
  return { type: "number", sql: sql`coalesce(sum(${number}), 0)`, cast: "numeric" };
}

/** The comparison and the number of days in the value of `is`: {op, n, within_days}. */
export function windowed(
  value: unknown,
  at: Position,
): { op: string; n: unknown; within: Fragment | null } | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const { op, n, within_days: within, ...others } = value as Record<string, unknown>;
  if (typeof op !== "string" || op === "is" || op === "not" || Object.keys(others).length > 0) {
    throw at.wrong(
      "must be {op, n, within_days}: an operator, what it takes, and, if you like, a number of days",
    );
  }
  const part = { ...at, wrong: (message: string) => at.wrong(message, ".within_days") };
  return { op, n, within: within === undefined ? null : days(within, part) };
}

/**
 * The operator over the aggregate of each player's events. It reads one set of players, not each player. A player
 * without events matches when the operator matches the aggregate of an empty group.
 */
export function occurred(
  field: Field & { events: EventAsk },
  operator: { name: string } & Operator,
  value: unknown,
  at: Position,
  within: Fragment | null,
): Fragment {
  const { property } = at.scope;
  const holds = operator.sql(field, value, at);
  const none =
    field.events.none === "zero" ? holdsAtZero(operator.name, value) : holdsMissing(operator, value);
  const window =
    within === null
      ? raw("")
      : sql` and e.occurred_at between ${at.scope.now} - ${within} * interval '24 hours' and ${at.scope.now}`;
  const groups = (having: Fragment) => sql`exists (
    select 1 from (
      select e.player_id from player_events e
      where e.property_id = ${property} and e.name = ${field.events.name}::text${window}
      group by e.player_id having ${having}) h
    where h.player_id = p.id)`;
  return none ? sql`not ${groups(sql`(${holds}) is not true`)}` : groups(holds);
}

function holdsMissing({ name, missing }: { name: string } & Operator, value: unknown): boolean {
  return name === "is" ? isNull(value) : missing;
}

function isNull(value: unknown): boolean {
  return value === null || (typeof value === "string" && value.toLowerCase() === "null");
}

/** Whether an operator for numbers matches 0, which is never missing. Its value is already checked. */
function holdsAtZero(name: string, value: unknown): boolean {
  const [low, high] = (Array.isArray(value) ? value : [value, value]) as [number, number];
  switch (name) {
    case "eq":
      return low === 0;
    case "neq":
      return low !== 0;
    case "gt":
      return low < 0;
    case "gte":
      return low <= 0;
    case "lt":
      return low > 0;
    case "lte":
      return low >= 0;
    case "between":
      return low <= 0 && high >= 0;
    case "not_between":
      return low > 0 || high < 0;
    case "in":
      return (value as number[]).includes(0);
    case "not_in":
      return !(value as number[]).includes(0);
    case "is":
      return !isNull(value);
    case "is_set":
      return true;
    case "is_not_set":
      return false;
    default:
      throw new Error(`${name} is no operator of counts and sums`);
  }
}
