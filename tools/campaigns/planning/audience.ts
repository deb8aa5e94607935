import { type Fragment, sql } from "#db/sql.ts";
import { invalid } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";
import { audienceBy, type Referred, referredBy } from "#tools/segments/rules/references.ts";

export type AudienceColumns = Pick<
  Campaign,
  "segment_id" | "exclude_segment_ids" | "audience" | "conditions" | "logic"
> & {
  journey_id?: string | null;
  /** Rules within the rules: those of a segment that is not saved yet. */
  groups?: Group[] | undefined;
};

/** Whether the campaign has an audience, or gets its people from a journey. Without one nobody is mailed, and never everyone. */
export function hasAudience({ segment_id, conditions, audience, journey_id }: AudienceColumns): boolean {
  return segment_id !== null || conditions !== null || audience !== null || Boolean(journey_id);
}

/** Refuses two audiences in one campaign: the service cannot tell the intended one. */
export function checkOneAudience({ segment_id, conditions, audience }: AudienceColumns): void {
  const given = Object.entries({ segment_id, conditions, audience }).filter(([, value]) => value !== null);
  if (given.length > 1) {
    const names = given.map(([name]) => name).join(" and ");
    throw invalid(
      String(given[1]![0]),
      `a campaign has one audience, and this gives ${names}; set one to null`,
    );
  }
}

/**
 * The campaign's audience as one boolean over `players p`. Its rules refer to records as they are now, or as they were
 * when the campaign was `planned`. Throws `not_found` for a deleted segment, and `invalid` for rules that do not compile.
 */
export async function audienceSql(
  context: Tenant,
  campaign: AudienceColumns,
  planned?: Referred,
): Promise<Fragment> {
  const rules = rulesOf(campaign);
  if (!rules) return sql`p.deleted_at is null`;
  return audienceBy(context.property.id, rules, planned ?? (await referredNow(context, rules)));
}

/** The records that the audience's rules refer to, as they were when the first recipients were planned. */
export async function plannedRules(
  context: Tenant,
  campaign: AudienceColumns & { id: string },
): Promise<Referred> {
  const { sql, property } = context;
  const [kept] = await sql<{ planned_rules: Referred | null }[]>`
    select planned_rules from campaigns where property_id = ${property.id} and id = ${campaign.id}`;
  if (kept?.planned_rules) return kept.planned_rules;
  const planned = await referencesOf(context, campaign);
  await sql`
    update campaigns set planned_rules = ${planned}::jsonb
    where property_id = ${property.id} and id = ${campaign.id}`;
  return planned;
}

/** The records that the audience's rules refer to now. Throws as `audienceSql`. */
export async function referencesOf(context: Tenant, campaign: AudienceColumns): Promise<Referred> {
  const rules = rulesOf(campaign);
  return rules ? referredNow(context, rules) : { segments: [], customs: [], tiers: [] };
}

/** The players of the audience now, whoever of them may be written to. */
export async function countPlayers(context: Tenant, campaign: AudienceColumns): Promise<number> {
  const { sql, property } = context;
  const [counted] = await sql<[{ count: number }]>`
    select count(*)::int as count from players p
    where p.property_id = ${property.id} and ${await audienceSql(context, campaign)}`;
  return counted.count;
}

function referredNow({ sql, property }: Tenant, rules: Partial<Group>): Promise<Referred> {
  return referredBy(sql, property.id, rules);
}

/** Null for an audience of all players. */
function rulesOf(campaign: AudienceColumns): Partial<Group> | null {
  const conditions: Condition[] = campaign.exclude_segment_ids.map((id) => ({
    field: `segment.${id}`,
    operator: "not_in_segment",
  }));
  if (campaign.segment_id !== null) {
    conditions.push({ field: `segment.${campaign.segment_id}`, operator: "in_segment" });
  }
  const { conditions: own, logic, groups: nested } = campaign;
  const groups: Group[] = own ? [{ logic, conditions: own, groups: nested }] : [];
  if (conditions.length === 0) return groups[0] ?? null;
  return { logic: "and", conditions, groups };
}
