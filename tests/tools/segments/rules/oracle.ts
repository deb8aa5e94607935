import { createHash } from "node:crypto";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";

/** A player as the tests write it, and what the other tables say about it. */
export interface Person {
  id: string;
  player_id: string;
  first_name: string | null;
  tier: string | null;
  adt: number | null;
  birth_date: string | null;
  last_visit_at: string | null;
  legal_hold: boolean;
  tags: string[];
  consents: Record<string, unknown>;
  custom: Record<string, unknown>;
  suppressed: boolean;
  /** An event of the player, with its time; `amount` is from the event's properties. */
  events: { name: string; occurred_at: string; amount: unknown }[];
  segments: Set<string>;
}

/** The moment and the place that the rules are read at. */
export interface Clock {
  now: Date;
  zone: string;
  /** From the lowest. */
  tiers: string[];
}

type Known = string | number | boolean | string[];

/** Reads rule rows one by one, in the plainest way, for the compiled SQL to be compared with. */
export function meets(group: Partial<Group>, person: Person, clock: Clock): boolean {
  const verdicts = [
    ...(group.conditions ?? []).map((row) => holds(row, person, clock)),
    ...(group.groups ?? []).map((inner) => meets(inner, person, clock)),
  ];
  return group.logic === "or" ? verdicts.some(Boolean) : verdicts.every(Boolean);
}

const OPPOSITES: Record<string, string> = {
  neq: "eq",
  not_in: "in",
  not_contains: "contains",
  not_between: "between",
  not_in_last_days: "in_last_days",
  is_not_set: "is_set",
  has_none: "has_any",
  not_in_segment: "in_segment",
};

const MOMENTS = new Set(["last_visit_at", "custom.i", "event.spin.last_at", "event.spin.first_at"]);

function holds({ field, operator, value }: Condition, person: Person, clock: Clock): boolean {
  const asked = field.startsWith("event.") && operator === "is" && isAsk(value) ? value : null;
  if (asked) {
    const { op, n, within_days: days } = asked;
    const recent = person.events.filter(
      ({ occurred_at: at }) => days === undefined || inTime("in_last_days", at, days, true, clock),
    );
    return holds({ field, operator: op, value: n }, { ...person, events: recent }, clock);
  }
  const opposite = OPPOSITES[operator];
  if (opposite) {
    return !holds({ field, operator: opposite as Condition["operator"], value }, person, clock);
  }
  if (operator === "not") {
    const inner = (typeof value === "object" && value) || { operator: "is", value };
    return !holds({ ...(inner as Condition), field }, person, clock);
  }
  const held = heldBy(person, field);
  if (operator === "is_set") return held !== undefined;
  if (operator === "is") return value === "not_null" ? held !== undefined : (held ?? null) === value;
  if (operator === "is_empty")
    return held === undefined || held === "" || (Array.isArray(held) && !held.length);
  if (held === undefined) return false;
  if (field === "tier" && ["gt", "gte", "lt", "lte", "between"].includes(operator)) {
    const rank = (tier: unknown) => clock.tiers.indexOf(tier as string);
    if (rank(held) < 0) return false;
    const ranks = Array.isArray(value) ? value.map(rank) : rank(value);
    return positive(operator, rank(held), ranks, false, clock);
  }
  return positive(operator, held, value, MOMENTS.has(field), clock);
}

interface Ask {
  op: Condition["operator"];
  n: unknown;
  within_days?: number;
}

function isAsk(value: unknown): value is Ask {
  return typeof value === "object" && value !== null && "op" in value;
}

function ofEvents(person: Person, name: string, what: string): Known | undefined {
  const own = person.events.filter((event) => event.name === name);
  if (what === "count") return own.length;
  const amounts = own.flatMap(({ amount }) => (typeof amount === "number" ? [amount] : []));
  if (what === "sum:amount") return amounts.reduce((sum, amount) => sum + amount, 0);
  return own
    .map((event) => event.occurred_at)
    .sort()
    .at(what === "last_at" ? -1 : 0);
}

function heldBy(person: Person, field: string): Known | undefined {
  const [family, key, what] = field.split(".") as [string, string, string];
  if (family === "event") return ofEvents(person, key, what);
  if (family === "custom") return (person.custom[key] ?? undefined) as Known | undefined;
  if (family === "consent") {
    const consent = person.consents[key];
    return typeof consent === "boolean" ? consent : undefined;
  }
  if (family === "suppressed") return person.suppressed;
  if (family === "segment") return person.segments.has(key);
  return (person[field as keyof Person] ?? undefined) as Known | undefined;
}

function positive(operator: string, held: Known, value: unknown, moment: boolean, clock: Clock): boolean {
  switch (operator) {
    case "eq":
      return moment ? compare(held, value, moment, clock) === 0 : held === value;
    case "gt":
    case "after":
      return (compare(held, value, moment || dated(operator), clock) ?? 0) > 0;
    case "lt":
    case "before":
      return (compare(held, value, moment || dated(operator), clock) ?? 0) < 0;
    case "gte":
      return (compare(held, value, moment, clock) ?? -1) >= 0;
    case "lte":
      return (compare(held, value, moment, clock) ?? 1) <= 0;
    case "between": {
      const [low, high] = value as [unknown, unknown];
      return (compare(held, low, moment, clock) ?? -1) >= 0 && (compare(held, high, moment, clock) ?? 1) <= 0;
    }
    case "in":
      return (value as unknown[]).includes(held);
    case "in_segment":
      return held === true;
    case "has_any":
      return Array.isArray(held) && (value as string[]).some((each) => held.includes(each));
    case "has_all":
      return Array.isArray(held) && (value as string[]).every((each) => held.includes(each));
    case "random_bucket": {
      const { percent, salt } = value as { percent: number; salt: string };
      const drawn = createHash("sha256").update(`${salt}:${held}`).digest().readUInt32BE();
      return drawn < (percent / 100) * 2 ** 32;
    }
    default:
      if (typeof held !== "string") return false;
      return typeof value === "string" && !operator.endsWith("day")
        ? inText(operator, held, value)
        : inTime(operator, held, value, moment, clock);
  }
}

function dated(operator: string): boolean {
  return operator === "before" || operator === "after";
}

function compare(held: Known, value: unknown, time: boolean, clock: Clock): number | undefined {
  if (typeof held !== typeof value || Array.isArray(held)) return undefined;
  if (typeof held === "number") return held - (value as number);
  if (time) {
    const [mine, theirs] = [instant(held as string, clock), instant(value as string, clock)];
    return mine === undefined || theirs === undefined ? undefined : mine - theirs;
  }
  return Buffer.compare(Buffer.from(held as string), Buffer.from(value as string));
}

function inText(operator: string, held: string, value: string): boolean {
  const [text, sought] = [held.toLowerCase(), value.toLowerCase()];
  if (operator === "contains") return text.includes(sought);
  if (operator === "starts_with") return text.startsWith(sought);
  if (operator === "ends_with") return text.endsWith(sought);
  let source = "";
  for (let at = 0; at < value.length; at += 1) {
    const char = value[at]!;
    if (char === "%" || char === "*") source += "[^]*";
    else if (char === "_") source += "[^]";
    else source += (char === "\\" ? (value[++at] ?? "\\") : char).replace(/[^a-zA-Z0-9]/, "\\$&");
  }
  return new RegExp(`^${source}$`, operator === "ilike" ? "i" : "").test(held);
}

const DAY = 86_400_000;

function inTime(operator: string, held: string, value: unknown, moment: boolean, clock: Clock): boolean {
  const time = instant(held, clock);
  if (time === undefined) return false;
  const now = clock.now.getTime();
  const today = Date.parse(localDay(now, clock.zone));
  const own = Date.parse(held.length === 10 ? held : localDay(time, clock.zone));
  const days = (value as number) * DAY;
  switch (operator) {
    case "on_day":
      return own === Date.parse(value as string);
    case "in_last_days":
      return moment ? time >= now - days && time <= now : own >= today - days && own <= today;
    case "in_next_days":
      return moment ? time >= now && time <= now + days : own >= today && own <= today + days;
    case "anniversary_in_next_days": {
      return untilAnniversary(own, today) * DAY <= days;
    }
    default:
      throw new Error(operator);
  }
}

const waits = new Map<string, number>();

/** Days from today, found by walking the calendar day by day. */
function untilAnniversary(born: number, today: number): number {
  const key = `${born} ${today}`;
  let wait = waits.get(key) ?? 0;
  while (!waits.has(key) && !celebrates(born, today + wait * DAY)) wait += 1;
  waits.set(key, wait);
  return wait;
}

function celebrates(born: number, day: number): boolean {
  const [mine, theirs] = [
    new Date(born).toISOString().slice(5, 10),
    new Date(day).toISOString().slice(5, 10),
  ];
  if (mine === theirs) return true;
  const leap = new Date(day + DAY).toISOString().slice(5, 10) === "02-29";
  return mine === "02-29" && theirs === "02-28" && !leap;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The calendar day at a moment, somewhere. */
function localDay(time: number, zone: string): string {
  const known = formats.get(zone);
  const format = known ?? new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" });
  if (!known) formats.set(zone, format);
  return format.format(time);
}

const instants = new Map<string, number | undefined>();

function instant(text: string, { zone }: Clock): number | undefined {
  const key = `${zone} ${text}`;
  if (!instants.has(key)) instants.set(key, instantOf(text, zone));
  return instants.get(key);
}

function instantOf(text: string, zone: string): number | undefined {
  const day = Date.parse(text.slice(0, 10));
  if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== text.slice(0, 10)) return undefined;
  if (text.length > 10) return Number.isNaN(Date.parse(text)) ? undefined : Date.parse(text);
  // The first quarter of an hour that is in that day there.
  for (let time = day - DAY; ; time += DAY / 96) if (localDay(time, zone) === text) return time;
}
