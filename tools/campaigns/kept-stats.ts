import type { Context } from "#runtime/context.ts";
import type { Campaign } from "./campaign.ts";
import type { CampaignStats } from "./stats.ts";

/** Up to here a campaign's recipients are counted in some 50 ms, each time anew. */
const COUNTED_ANEW = 20_000;

/** What was counted last of a campaign that is too large to be counted for each reader; null for the others. */
export async function keptStats(
  { sql, property }: Pick<Context, "sql" | "property">,
  { id }: Pick<Campaign, "id">,
): Promise<(CampaignStats & { as_of: string }) | null> {
  // An older version has not counted by variant.
  const [row] = await sql<{ stats: CampaignStats; as_of: string }[]>`
    select '{"by_variant": {}}'::jsonb || stats as stats, to_json(stats_at) #>> '{}' as as_of from campaigns
    where property_id = ${property.id} and id = ${id} and audience_count > ${COUNTED_ANEW}
      and stats_at is not null`;
  return row ? { as_of: row.as_of, ...row.stats } : null;
}

/** Keeps what was counted in the campaign's record. It is no change of the campaign: its version stays. */
export async function keepStats(
  { sql, property }: Pick<Context, "sql" | "property">,
  id: string,
  stats: CampaignStats,
): Promise<void> {
  await sql`
    update campaigns set stats = ${stats as never}::jsonb, stats_at = now()
    where property_id = ${property.id} and id = ${id}`;
}
