import { cast, join, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { capsCtes } from "#tools/compliance/frequency.ts";
import { hoursCtes } from "#tools/compliance/hours.ts";
import { hasAudience, judgedCte } from "./audience.ts";
import { allowedCte } from "./judge.ts";

// More players would take an agent's call too long.
const MOST_PLAYERS = 100_000;

/** How many allowed messages go at their time, and how many later, by the reason. */
export interface Waiting {
  counted: number;
  waiting: number;
  reasons: { quiet_hours: number; frequency_capped: number };
}

const NOBODY: Waiting = { counted: 0, waiting: 0, reasons: { quiet_hours: 0, frequency_capped: 0 } };

/** Counts those who would wait for open hours, or for a frequency rule, of the first players of the audience. */
export async function countWaiting(context: Tenant, campaign: Campaign): Promise<Waiting> {
  if (!hasAudience(campaign)) return NOBODY;
  const channel = sendingChannel(campaign);
  const { property } = context;
  const { id, tags, scheduled_at, ignore_frequency_cap, is_transactional } = campaign;
  const at = scheduled_at ?? undefined;
  const judged = await judgedCte(context, campaign, null, MOST_PLAYERS);
  const isExempt = ignore_frequency_cap || is_transactional;
  const caps = isExempt
    ? sql`caps as (select null::uuid as id where false)`
    : capsCtes({ property, channel, tags, campaignId: id, at }, "passed");
  const [row] = await context.sql<
    [{ counted: number; waiting: number; quiet_hours: number; frequency_capped: number }]
  >`
    with ${judged}, ${join([allowedCte("passed"), hoursCtes({ property, channel, at }, "passed"), caps])}
    select count(*)::int as counted, count(*) filter (where is_closed or is_capped)::int as waiting,
      count(*) filter (where is_closed)::int as quiet_hours, count(*) filter (where is_capped)::int as frequency_capped
    from (
      select not coalesce(h.is_open, true) and not ${cast(campaign.send_in_player_timezone, "boolean")} as is_closed,
        c.id is not null as is_capped
      from passed p
        left join hours h on h.zones = p.zones and h.region = p.region
        left join caps c on c.id = p.id) w`;
  const { counted, waiting, quiet_hours, frequency_capped } = row;
  return { counted, waiting, reasons: { quiet_hours, frequency_capped } };
}
