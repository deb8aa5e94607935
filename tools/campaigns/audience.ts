import type { Context } from "#runtime/context.ts";
import { invalid } from "#runtime/faults.ts";
import type { Condition, Group } from "#tools/segments/conditions.ts";
import { audienceBy, type Referred, referredBy } from "#tools/segments/conditions-segments.ts";
import type { Campaign } from "./campaign.ts";

type Rules = Pick<Campaign, "segment_id" | "exclude_segment_ids" | "audience" | "conditions" | "logic">;

type Setting = Pick<Context, "sql" | "property">;

interface Fragment {
  text: string;
  params: unknown[];
}

/** Whether the campaign says whom it is for: without that nobody is mailed, and never everyone. */
export function hasAudience({ segment_id, conditions, audience }: Rules): boolean {
  return segment_id !== null || conditions !== null || audience !== null;
}

/** Refuses two audiences in one campaign: which of them was meant could only be guessed. */
export function checkOneAudience({ segment_id, conditions, audience }: Rules): void {
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
 * The campaign's audience as one boolean over `players p`, whose placeholders follow `after` others; by what its
 * rules refer to now, or by what they have referred to when it was `planned`. Throws what `compileConditions`
 * throws: a segment that is gone is `not_found`.
 */
export async function audienceSql(
  context: Setting,
  campaign: Rules,
  after: number,
  planned?: Referred,
): Promise<Fragment> {
  const rules = rulesOf(campaign);
  if (!rules) return { text: "p.deleted_at is null", params: [] };
  return audienceBy(context.property.id, rules, planned ?? (await referredNow(context, rules)), after);
}

/** What the rules of a campaign's audience refer to: as it was when its first recipients were planned, from then on. */
export async function plannedRules(context: Setting, campaign: Rules & { id: string }): Promise<Referred> {
  const { sql, property } = context;
  const [kept] = await sql<{ planned_rules: Referred | null }[]>`
    select planned_rules from campaigns where property_id = ${property.id} and id = ${campaign.id}`;
  if (kept?.planned_rules) return kept.planned_rules;
  const rules = rulesOf(campaign);
  const planned = rules ? await referredNow(context, rules) : { segments: [], customs: [], tiers: [] };
  await sql`
    update campaigns set planned_rules = ${planned as never}::jsonb
    where property_id = ${property.id} and id = ${campaign.id}`;
  return planned;
}

function referredNow({ sql, property }: Setting, rules: Partial<Group>): Promise<Referred> {
  return referredBy(sql, property.id, rules);
}

/** Null where it is everyone. */
function rulesOf(campaign: Rules): Partial<Group> | null {
  const conditions: Condition[] = campaign.exclude_segment_ids.map((id) => ({
    field: `segment.${id}`,
    operator: "not_in_segment",
  }));
  if (campaign.segment_id !== null) {
    conditions.push({ field: `segment.${campaign.segment_id}`, operator: "in_segment" });
  }
  const groups = campaign.conditions ? [{ logic: campaign.logic, conditions: campaign.conditions }] : [];
  return conditions.length + groups.length === 0 ? null : { logic: "and", conditions, groups };
}
