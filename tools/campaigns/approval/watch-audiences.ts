import { adHoc, type Fragment, join, sql as part, raw } from "#db/sql.ts";
import { isUuid } from "#db/text.ts";
import { counted } from "#runtime/counted.ts";
import { Fault } from "#runtime/faults.ts";
import { storedNames } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { countsPeople } from "#tools/approvals/approval.ts";
import { askAboutLists } from "#tools/approvals/lists.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { columns } from "#tools/campaigns/campaign/columns.ts";
import { audienceSql } from "#tools/campaigns/planning/audience.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { isAsked } from "#tools/enrollments/ask.ts";
import { playerWords } from "#tools/people/words.ts";

/** The most players that a question names. */
const MOST_NAMED = 5;

/**
 * Asks before an agent's call adds players to the audience of an approved campaign that has not started. It also asks
 * before a change of a list with which such a campaign, or an active game, was approved. The confirmation approves the
 * joining players too. Data of other callers are growth, which the approval bounds.
 */
export async function watchAudiences(
  context: Context,
  ids: string[],
): Promise<(ids: string[]) => Promise<void>> {
  if (!countsPeople(context.call)) return async () => {};
  const waiting = isAsked(context.call) ? await audiencesOf(context, await waitingCampaigns(context)) : [];
  const left = await entriesAmong(context, ids);
  const numbered = waiting.length > 0 ? await playersNumbered(context, ids) : [];
  const playersOf = (known: string[]) => [...known, ...numbered, ...left.map(({ player_id }) => player_id)];
  const before = await standingOf(context, waiting, playersOf(ids));
  return async (changed) => {
    const entries = [...left, ...(await entriesAmong(context, changed))];
    const named = await askAboutLists(context, [...new Set(entries.map(({ segment_id }) => segment_id))]);
    const after = await standingOf(context, waiting, playersOf(changed));
    for (const { campaign } of waiting) {
      const joined = newIn(after.recipients, before.recipients, campaign.id);
      if (joined.length > 0) askAboutJoining(context, campaign, joined);
      const shown = (id: string) => named.has(campaign.id) || joined.includes(id);
      const came = newIn(after.members, before.members, campaign.id).filter(shown);
      const went = newIn(before.members, after.members, campaign.id);
      await approveMore(context, campaign, came.length - went.length);
    }
  };
}

/** The players that calls name by the operator's own numbers. A merged number names the player who was kept. */
async function playersNumbered({ sql, property }: Context, numbers: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select coalesce(merged_into, id) as id from players
    where property_id = ${property.id} and player_id = any(${numbers}::text[])
      and (deleted_at is null or merged_into is not null)`;
  return rows.map(({ id }) => id);
}

/** The entries of lists among the records with these ids. */
async function entriesAmong(
  { sql, property }: Context,
  ids: string[],
): Promise<{ segment_id: string; player_id: string }[]> {
  const known = ids.filter(isUuid);
  if (known.length === 0) return [];
  return sql<{ segment_id: string; player_id: string }[]>`
    select segment_id, player_id from segment_members
    where property_id = ${property.id} and id = any(${known}::uuid[])`;
}

const newIn = (after: ByCampaign, before: ByCampaign, campaignId: string) =>
  [...(after.get(campaignId) ?? [])].filter((id) => !before.get(campaignId)?.has(id));

/** Adds the growth that a person has seen to the number that was approved. Players who leave do not lower it. */
async function approveMore({ sql, property, call }: Context, { id }: Campaign, more: number): Promise<void> {
  if (more <= 0 || !(call.confirmation || call.review === "approved")) return;
  await sql`
    update campaigns
    set approved = jsonb_set(approved, '{count}', ((approved ->> 'count')::int + ${more}::int)::text::jsonb)
    where property_id = ${property.id} and id = ${id} and approved ->> 'count' is not null`;
}

/** The campaigns that were approved and have not started. */
export function waitingCampaigns({ sql, property }: Context): Promise<Campaign[]> {
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

/** By a campaign's id, players. */
type ByCampaign = ReadonlyMap<string, ReadonlySet<string>>;

interface Standing {
  /** The players of the audience. */
  members: ByCampaign;
  /** Those of them to whom the gate allows a message now. */
  recipients: ByCampaign;
}

/** The standing of the players among `ids`: one statement a channel. */
async function standingOf(
  { sql, property }: Context,
  audiences: Audience[],
  ids: string[],
): Promise<Standing> {
  const known = ids.filter(isUuid);
  const [members, recipients] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  if (known.length === 0) return { members, recipients };
  for (const [channel, waiting] of Map.groupBy(audiences, ({ campaign }) => sendingChannel(campaign))) {
    const fits = waiting.map(({ rules }, index) => part`case when ${rules} then ${raw(String(index))} end`);
    const rows = await sql<{ id: string; fitting: number[]; allowed: boolean }[]>`${adHoc(part`
      select p.id, array_remove(array[${join(fits)}]::int[], null) as fitting,
        ${gateReasons({ property, channel })} = '{}' as allowed
      from players p
      where p.property_id = ${property.id}::uuid and p.id = any(${known}::uuid[])
      order by p.id`)}`;
    for (const { id, fitting, allowed } of rows) {
      for (const index of fitting) {
        const campaignId = waiting[index]!.campaign.id;
        for (const set of allowed ? [members, recipients] : [members]) {
          set.set(campaignId, (set.get(campaignId) ?? new Set()).add(id));
        }
      }
    }
  }
  return { members, recipients };
}

function askAboutJoining(context: Context, { name, status, approved }: Campaign, joined: string[]): void {
  context.ask?.({
    sentences: async () => {
      const named: string[] = [];
      for (const id of joined.slice(0, MOST_NAMED)) named.push(await playerWords(context, id));
      const more = joined.length > named.length ? ` and ${joined.length - named.length} more` : "";
      const count = approved?.count ?? null;
      const without = count === null ? "" : `, for ${counted(count, "player")}`;
      return [
        `This adds ${named.join(", ")}${more} to those who get the campaign ${JSON.stringify(name)}, which is ${status}. It was approved without them${without}.`,
      ];
    },
    reach: { players: () => joined.length, cost: () => null },
  });
}
