import { type Fragment, literals, sql } from "#db/sql.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { settleLater } from "#tools/campaigns/campaign/jobs.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { openOnly } from "./open-sends.ts";

// Resend forgets an Idempotency-Key after a day; the mailbox forgets none.
const KNOWN_FOR_HOURS = 23;

/** A provider: its name, and the id of its record; null for the operator's. */
export interface ProviderIdentity {
  id: string | null;
  name: string;
}

type CampaignOf = Pick<Campaign, "id" | "journey_id">;

/** The earliest claim that a vendor still remembers, as SQL. */
export const REMEMBERED_SINCE = sql`(now() - make_interval(hours => ${KNOWN_FOR_HOURS}))`;

/**
 * Whether a provider would recognize a send that it may have, as SQL over `campaign_sends s`. A repeated send keeps the
 * time of its first claim, however often it waits in between.
 */
export function recognizes({ name, id }: ProviderIdentity, since: Fragment): Fragment {
  return sql`(s.provider is not distinct from ${name}::text and s.provider_id is not distinct from ${id}::uuid
    and (s.provider_id is null or s.claimed_at > ${since}))`;
}

/**
 * Recovers the sends that this job, or a job that is gone, had claimed when it broke off. The vendor may have them. A
 * vendor that recognizes a message gets it once more; any other vendor gets it only once.
 */
export async function recoverSends(
  context: Context,
  jobId: string,
  { campaign, repeatable }: { campaign: CampaignOf; repeatable: ProviderIdentity | null },
): Promise<void> {
  const { sql, property } = context;
  const { id: campaignId } = campaign;
  const open = await openSends(context, campaign);
  if (open.length === 0) return;
  const gone = await goneJobs(
    context,
    open.flatMap(({ claimed_by }) => claimed_by ?? []),
    jobId,
  );
  const isKnown = repeatable ? recognizes(repeatable, sql`c.remembered_since`) : sql`false`;
  const recovered = await sql<{ status: string }[]>`
    with campaign as materialized (
      select status <> 'cancelled' as goes_on, ${REMEMBERED_SINCE} as remembered_since from campaigns
      where property_id = ${property.id} and id = ${campaignId}
    )
    update campaign_sends s
    set status = case when c.goes_on and ${isKnown} then 'pending' else 'unknown' end,
      repeats = c.goes_on and ${isKnown}, claimed_by = null,
      error_code = case when c.goes_on and ${isKnown} then null else 'interrupted' end, updated_at = now()
    from campaign c
    where s.property_id = ${property.id} and s.id = any(${open.map(({ id }) => id)}::uuid[])
      and (s.status = 'sending' and (s.claimed_by is null or s.claimed_by = any(${gone}::uuid[]))
        or s.status in (${literals(WAITING_SENDS)}) and s.repeats and not ${isKnown})
    returning s.status`;
  if (recovered.some(({ status }) => status === "unknown")) settleLater(context, { campaignId });
}

/** The sends that a vendor may have: claimed ones, and ones that wait to be repeated. */
async function openSends({ sql, property }: Tenant, campaign: CampaignOf) {
  return sql<{ id: string; claimed_by: string | null }[]>`
    select id, case when status = 'sending' then claimed_by end as claimed_by from campaign_sends s
    where property_id = ${property.id} and campaign_id = ${campaign.id} ${openOnly(campaign)}
      and (status = 'sending' or status in (${literals(WAITING_SENDS)}) and repeats)`;
}

/** This job, and those of the jobs that are not in the queue any more. It asks the queue alone, which is a local table. */
async function goneJobs({ sql }: Tenant, claimers: string[], jobId: string): Promise<string[]> {
  const others = [...new Set(claimers)].filter((id) => id !== jobId);
  if (others.length === 0) return [jobId];
  const gone = await sql<{ id: string }[]>`
    select j.id from unnest(${others}::uuid[]) as j(id)
    where not exists (select 1 from queue q where q.id = j.id and q.state <> 'dead')`;
  return [jobId, ...gone.map(({ id }) => id)];
}
