import { literals } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { changesSince, segmentKeys } from "#tools/approvals/approval.ts";
import { type Campaign, findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { LIVE_CAMPAIGNS } from "#tools/statuses/campaigns.ts";
import { approving, askAbout, presentState } from "./approve.ts";
import { CARRIER, campaignPrints, templateKey } from "./prints.ts";
import { changeWords } from "./words.ts";

/**
 * Compares waiting campaigns with their approvals, behind a call that has changed these records. Without ids the call
 * has changed the property's own look. An agent has to ask about each difference. Any other call approves the new
 * state.
 */
export async function keepApprovals(context: Context, ids: string[]): Promise<void> {
  for (const id of await approvedCampaigns(context, ids)) {
    const campaign = await findCampaign(context, id);
    const changes = changesSince(campaign.approved_state, await campaignPrints(context, campaign));
    if (changes.length > 0) await approveAnew(context, campaign, changes);
  }
}

/** The campaigns on their way to people that are one of these records, were approved with one, or may be sent by one. */
async function approvedCampaigns({ sql, property }: Context, ids: string[]): Promise<string[]> {
  const found = await sql<{ id: string }[]>`
    select id from campaigns
    where property_id = ${property.id} and deleted_at is null and approved_state is not null
      and status in (${literals(LIVE_CAMPAIGNS)})
      and (${ids.length === 0}::boolean or id = any(${ids}::uuid[])
        or jsonb_exists_any(approved_state -> 'content', ${ids.map(templateKey)}::text[])
        or jsonb_exists_any(approved_state -> 'audience', ${segmentKeys(ids)}::text[])
        or channel in (
          select channel from message_providers where property_id = ${property.id} and id = any(${ids}::uuid[])))
    order by id`;
  return found.map(({ id }) => id);
}

async function approveAnew(context: Context, campaign: Campaign, changes: string[]): Promise<void> {
  const { sql, property } = context;
  const present = askAbout(context, campaign, await presentState(context, campaign), {
    sentences: () => changeWords(context, campaign, changes),
    // A proposal keeps its call, and a provider's call has credentials.
    isWeighed: changes.some((change) => change !== CARRIER),
  });
  const { approved, approved_state } = approving(context, campaign, present);
  // A program that changes the content leaves the number that a person was shown.
  const isSameAudience = campaign.approved?.audience_hash === approved.audience_hash;
  const count = approved.count ?? (isSameAudience ? (campaign.approved?.count ?? null) : null);
  await sql`
    update campaigns set approved = ${{ ...approved, count }}::jsonb, approved_state = ${approved_state}::jsonb
    where property_id = ${property.id} and id = ${campaign.id}`;
}
