import { adHoc, type Fragment, join, sql as part, raw } from "#db/sql.ts";
import { isUuid } from "#db/text.ts";
import { Fault } from "#runtime/faults.ts";
import { storedNames } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { columns } from "#tools/campaigns/campaign/columns.ts";
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
  const waiting = isAsked(context.call) ? await audiencesOf(context, await approvedCampaigns(context)) : [];
  const before = await recipientsAmong(context, waiting, ids);
  return async (changed) => {
    const after = await recipientsAmong(context, waiting, changed);
    for (const { campaign } of waiting) {
      const earlier = before.get(campaign.id);
      const joined = [...(after.get(campaign.id) ?? [])].filter((id) => !earlier?.has(id));
      if (joined.length > 0) askAboutJoining(context, campaign, joined);
    }
  };
}

/** The names of the campaigns that were approved and have not started. */
export async function waitingCampaigns(context: Context): Promise<string[]> {
  return (await approvedCampaigns(context)).map(({ name }) => name);
}

function approvedCampaigns({ sql, property }: Context): Promise<Campaign[]> {
  return sql<Campaign[]>`
    select ${storedNames(columns)} from campaigns
    where property_id = ${property.id} and deleted_at is null and approved_state is not null and started_at is null
      and journey_id is null and status in ('scheduled', 'queued', 'paused')
    order by id`;
}

interface Audience {
  campaign: Campaign;
  /** As SQL over `players p`. */
  rules: Fragment;
}

/** The audiences that can be read: of another one nobody gets anything. */
async function audiencesOf(context: Context, campaigns: Campaign[]): Promise<Audience[]> {
  const audiences: Audience[] = [];
  for (const campaign of campaigns) {
    const rules = await audienceSql(context, campaign).catch(nullIfRefused);
    if (rules !== null) audiences.push({ campaign, rules });
  }
  return audiences;
}

function nullIfRefused(error: unknown): null {
  if (error instanceof Fault && error.status < 500) return null;
  throw error;
}

/** By a campaign's id, the players who get it. */
type Recipients = ReadonlyMap<string, ReadonlySet<string>>;

/** The players among `ids` who fit the audiences, and to whom the gate allows a message now: one statement a channel. */
async function recipientsAmong(
  { sql, property }: Context,
  audiences: Audience[],
  ids: string[],
): Promise<Recipients> {
  const known = ids.filter(isUuid);
  const recipients = new Map<string, Set<string>>();
  if (known.length === 0) return recipients;
  for (const [channel, waiting] of Map.groupBy(audiences, ({ campaign }) => sendingChannel(campaign))) {
    const fits = waiting.map(({ rules }, index) => part`case when ${rules} then ${raw(String(index))} end`);
    const rows = await sql<{ id: string; fitting: number[] }[]>`${adHoc(part`
      select p.id, array_remove(array[${join(fits)}]::int[], null) as fitting from players p
      where p.property_id = ${property.id}::uuid and p.id = any(${known}::uuid[])
        and ${gateReasons({ property, channel })} = '{}'
      order by p.id`)}`;
    for (const { id, fitting } of rows) {
      for (const index of fitting) {
        const campaignId = waiting[index]!.campaign.id;
        recipients.set(campaignId, (recipients.get(campaignId) ?? new Set()).add(id));
      }
    }
  }
  return recipients;
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
