import type { Fragment, Sql } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type CustomField, customFields } from "#tools/custom-fields/values.ts";
import { type Audience, compileConditions, compileDate, Group, MAX_NESTING } from "./compile.ts";
import {
  campaignNamed,
  customNamed,
  gameNamed,
  journeyNamed,
  type Messages,
  segmentNamed,
} from "./fields.ts";

const MAX_SEGMENTS = 500;

interface SegmentRow {
  id: string;
  name: string;
  type: "static" | "dynamic";
  logic: string;
  conditions: unknown;
  groups: unknown;
  exclude_segment_ids: string[];
}

/** The segment's audience as one boolean over `players p`; see `compileConditions`. `not_found` without it. */
export async function audienceOf(sql: Sql, property: string, segmentId: string): Promise<Fragment> {
  return audienceMatching(sql, property, within(segmentId));
}

/** The rules of a segment's players. */
export function within(segmentId: string): Partial<Group> {
  return { conditions: [{ field: `segment.${segmentId}`, operator: "in_segment" }] };
}

/** Whether a segment is one of `ids`, or its rules refer to one, also through others. Unreadable rules do not. */
export async function standsOn(
  sql: Sql,
  property: string,
  segmentId: string,
  ids: readonly string[],
): Promise<boolean> {
  try {
    const found = await loadSegments(sql, property, [segmentId]);
    return ids.some((id) => found.has(id.toLowerCase()));
  } catch (error) {
    if (error instanceof Fault && error.status < 500) return false;
    throw error;
  }
}

/** The references of rules, as they are at one moment. They can be stored as JSON. */
export interface Referred {
  segments: Audience[];
  customs: CustomField[];
  tiers: string[];
  /** In a journey: the channels of its messages, by their nodes. */
  messages?: Messages;
  /** The property's country, in which phone numbers are dialed. */
  home?: string;
}

/** The rules' audience as one boolean over `players p`, with the segments that they refer to. */
export async function audienceMatching(sql: Sql, property: string, rules: Partial<Group>): Promise<Fragment> {
  return audienceBy(property, rules, await referredBy(sql, property, rules));
}

/** The current references of the rules: segments, and the fields and tiers that these and the rules name. */
export async function referredBy(sql: Sql, property: string, rules: Partial<Group>): Promise<Referred> {
  const segments = [...(await loadSegments(sql, property, segmentsIn(rules))).values()];
  const fields = [rules, ...segments].flatMap(fieldsIn);
  await checkCampaigns(sql, property, [...new Set(fields.flatMap((field) => campaignNamed(field) ?? []))]);
  await checkJourneys(sql, property, [...new Set(fields.flatMap((field) => journeyNamed(field) ?? []))]);
  await checkGames(sql, property, [...new Set(fields.flatMap((field) => gameNamed(field) ?? []))]);
  const customs = fields.some(customNamed) ? await customFields({ sql, property: { id: property } }) : [];
  const named = fields.some((field) => OF_THE_PROPERTY.has(field))
    ? await settingsOf(sql, property)
    : undefined;
  return { segments, customs: [...customs.values()], tiers: [], ...named };
}

/** A date or time of players, as SQL over `players p`, by the stored references. Throws `invalid` for another field. */
export function dateField(name: string, property: string, { customs, home }: Referred, at?: string) {
  return compileDate(name, {
    property,
    customs: new Map(customs.map((field) => [field.key, field])),
    home,
    at,
  });
}

/** As `audienceMatching`, by the stored references of that moment, for the ISO time `at` or now. */
export function audienceBy(
  property: string,
  rules: Partial<Group>,
  { segments, customs, tiers, messages, home }: Referred,
  at?: string,
): Fragment {
  return compileConditions(rules, {
    property,
    segments: new Map(segments.map((segment) => [segment.id, segment])),
    customs: new Map(customs.map((field) => [field.key, field])),
    tiers,
    messages,
    home,
    at,
  });
}

/** A missing campaign was sent to nobody, so "not yet sent to" would match everyone. A deleted campaign was sent. */
async function checkCampaigns(sql: Sql, property: string, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql<{ id: string }[]>`
    select id from campaigns where property_id = ${property} and id = any(${ids}::uuid[])`;
  const missing = ids.find((id) => !rows.some((row) => row.id === id));
  if (missing) throw new Fault("not_found", { message: `campaign ${missing} is not in this property.` });
}

/** As a missing campaign: nobody was ever in a missing journey. */
async function checkJourneys(sql: Sql, property: string, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql<{ id: string }[]>`
    select id from journeys where property_id = ${property} and id = any(${ids}::uuid[])`;
  const missing = ids.find((id) => !rows.some((row) => row.id === id));
  if (missing) throw new Fault("not_found", { message: `journey ${missing} is not in this property.` });
}

/** As a missing campaign: nobody has played a missing game. */
async function checkGames(sql: Sql, property: string, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql<{ id: string }[]>`
    select id from games where property_id = ${property} and id = any(${ids}::uuid[])`;
  const missing = ids.find((id) => !rows.some((row) => row.id === id));
  if (missing) throw new Fault("not_found", { message: `game ${missing} is not in this property.` });
}

/** Fields whose values are read by the property's settings. */
const OF_THE_PROPERTY = new Set(["tier", "phone", "phone_e164"]);

async function settingsOf(
  sql: Sql,
  property: string,
): Promise<{ tiers: string[]; home: string } | undefined> {
  const [row] = await sql<{ tiers: string[]; home: string }[]>`
    select tiers, default_country as home from properties where id = ${property}`;
  return row;
}

/** These segments and all that they refer to, one query a level. `not_found` names one that is missing. */
export async function loadSegments(
  sql: Sql,
  property: string,
  ids: Iterable<string>,
): Promise<Map<string, Audience>> {
  const found = new Map<string, Audience>();
  let wanted = new Set([...ids].map((id) => id.toLowerCase()));
  for (let level = 0; wanted.size > 0; level += 1) {
    if (level === MAX_NESTING) {
      throw invalid("conditions", `segments may refer to one another ${MAX_NESTING} deep at most`);
    }
    if (found.size + wanted.size > MAX_SEGMENTS) {
      throw invalid("conditions", `refer to more than ${MAX_SEGMENTS} segments`);
    }
    for (const row of await segmentRows(sql, property, [...wanted])) found.set(row.id, audience(row));
    const missing = [...wanted].find((id) => !found.has(id));
    if (missing)
      throw new Fault("not_found", {
        message: `segment ${missing} is not in this property.`,
      });
    const next = [...wanted].flatMap((id) => referredTo(found.get(id)!));
    wanted = new Set(next.filter((id) => !found.has(id)));
  }
  return found;
}

function segmentRows(sql: Sql, property: string, ids: string[]): Promise<SegmentRow[]> {
  return sql<SegmentRow[]>`
    select s.id, s.name, s.type, s.logic, s.conditions, s.groups, s.exclude_segment_ids
    from segments s
    where s.property_id = ${property} and s.id = any(${ids}::uuid[]) and s.deleted_at is null`;
}

function audience({ id, name, type, exclude_segment_ids, ...stored }: SegmentRow): Audience {
  const { logic, conditions, groups } = stored;
  const rules = Group.safeParse({ logic, conditions, groups });
  if (rules.success) return { id, name, type, exclude_segment_ids, ...rules.data };
  const [issue] = rules.error.issues;
  throw new Fault("conflict", {
    message: `segment ${id} holds a rule that is not valid: ${issue?.path.join(".")}: ${issue?.message}`,
  });
}

function referredTo(segment: Audience): string[] {
  return [...(segment.type === "dynamic" ? segmentsIn(segment) : []), ...segment.exclude_segment_ids];
}

function segmentsIn(rules: Partial<Group>): string[] {
  return fieldsIn(rules).flatMap((field) => segmentNamed(field) ?? []);
}

function fieldsIn({ conditions = [], groups = [] }: Partial<Group>): string[] {
  return [...conditions.map(({ field }) => field), ...groups.flatMap(fieldsIn)];
}
