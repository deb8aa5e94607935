import { type Fragment, sql } from "#db/sql.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";

/** Narrows the sends `s` of a journey's campaign, which has no end, to those without an outcome. */
export function openOnly({ journey_id }: Pick<Campaign, "journey_id">): Fragment {
  return journey_id ? sql`and s.is_open` : sql``;
}
