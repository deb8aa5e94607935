import { sql as part } from "#db/sql.ts";
import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, findCampaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { audienceSql } from "#tools/campaigns/planning/audience.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { isAsked } from "#tools/enrollments/ask.ts";
import { playerWords } from "#tools/people/words.ts";

/** The most players that a question names. */
const MOST_NAMED = 5;

/**
 * Asks before an agent's call makes players ones who get a campaign that was approved without them, and that has not
 * started. Data of other callers are growth, which the approval bounds.
 */
export async function watchAudiences(
  context: Context,
  ids: string[],
): Promise<(ids: string[]) => Promise<void>> {
  const waiting = isAsked(context.call) ? await approvedCampaigns(context) : [];
  const before = new Map<string, ReadonlySet<string>>();
  for (const campaign of waiting)
    before.set(campaign.id, new Set(await recipientsAmong(context, campaign, ids)));
  return async (changed) => {
    for (const campaign of waiting) {
      const after = await recipientsAmong(context, campaign, changed);
      const joined = after.filter((id) => !before.get(campaign.id)!.has(id));
      if (joined.length > 0) askAboutJoining(context, campaign, joined);
    }
  };
}

/** The names of the campaigns that were approved and have not started. */
export async function waitingCampaigns(context: Context): Promise<string[]> {
  return (await approvedCampaigns(context)).map(({ name }) => name);
}

async function approvedCampaigns(context: Context): Promise<Campaign[]> {
  const { sql, property } = context;
  const found = await sql<{ id: string }[]>`
    select id from campaigns
    where property_id = ${property.id} and deleted_at is null and approved_state is not null and started_at is null
      and journey_id is null and status in ('scheduled', 'queued', 'paused')
    order by id`;
  const campaigns: Campaign[] = [];
  for (const { id } of found) campaigns.push(await findCampaign(context, id));
  return campaigns;
}

/** The players among `ids` who fit the campaign's audience, and to whom the gate allows its message now. */
async function recipientsAmong(context: Context, campaign: Campaign, ids: string[]): Promise<string[]> {
  const { sql, property } = context;
  const known = ids.filter(isUuid);
  if (known.length === 0) return [];
  try {
    const audience = await audienceSql(context, campaign);
    const reasons = gateReasons({ property, channel: sendingChannel(campaign) });
    const rows = await sql<{ id: string }[]>`${part`
      select p.id from players p
      where p.property_id = ${property.id}::uuid and p.id = any(${known}::uuid[]) and ${audience} and ${reasons} = '{}'
      order by p.id`}`;
    return rows.map(({ id }) => id);
  } catch (error) {
    // An audience that cannot be read is sent to nobody.
    if (error instanceof Fault && error.status < 500) return [];
    throw error;
  }
}

function askAboutJoining(context: Context, { name, status, approved }: Campaign, joined: string[]): void {
  context.ask?.({
    sentences: async () => {
      const named: string[] = [];
      for (const id of joined.slice(0, MOST_NAMED)) named.push(await playerWords(context, id));
      const more = joined.length > named.length ? ` and ${joined.length - named.length} more` : "";
      const count = approved?.count ?? null;
      const without = count === null ? "" : `, for ${count} players`;
      return [
        `This adds ${named.join(", ")}${more} to those who get the campaign ${JSON.stringify(name)}, which is ${status}. It was approved without them${without}.`,
      ];
    },
    reach: { players: () => joined.length, cost: () => null },
  });
}
