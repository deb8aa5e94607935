import { invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation.ts";
import type { Condition } from "#tools/segments/conditions.ts";
import { audienceMatching } from "#tools/segments/conditions-segments.ts";
import type { Campaign } from "./campaign.ts";

type Rules = Pick<Campaign, "segment_id" | "exclude_segment_ids" | "audience" | "conditions" | "logic">;

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
 * The campaign's audience as one boolean over `players p`, whose placeholders follow `after` others. Throws what
 * `compileConditions` throws: a segment that is gone is `not_found`.
 */
export async function audienceSql(
  { sql, property }: Pick<Context, "sql" | "property">,
  campaign: Rules,
  after: number,
): Promise<Fragment> {
  const conditions: Condition[] = campaign.exclude_segment_ids.map((id) => ({
    field: `segment.${id}`,
    operator: "not_in_segment",
  }));
  if (campaign.segment_id !== null) {
    conditions.push({ field: `segment.${campaign.segment_id}`, operator: "in_segment" });
  }
  const groups = campaign.conditions ? [{ logic: campaign.logic, conditions: campaign.conditions }] : [];
  if (conditions.length + groups.length === 0) return { text: "p.deleted_at is null", params: [] };
  return audienceMatching(sql, property.id, { logic: "and", conditions, groups }, after);
}
