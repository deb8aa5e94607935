import { adHoc, cte, type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import { invalid, toFault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import type { Condition, Group } from "#tools/segments/rules/compile.ts";
import { audienceBy, type Referred, referredBy } from "#tools/segments/rules/references.ts";
import { unknownValues } from "#tools/segments/unknown-values.ts";

type AudienceColumns = Pick<
  Campaign,
  "segment_id" | "exclude_segment_ids" | "audience" | "conditions" | "logic"
> & {
  journey_id?: string | null;
  /** Rules within the rules: those of a segment that is not saved yet. */
  groups?: Group[] | undefined;
};

/** Whether the campaign has an audience, or gets its people from a journey. Only then does it reach anybody. */
export function hasAudience({ segment_id, conditions, audience, journey_id }: AudienceColumns): boolean {
  return segment_id !== null || conditions !== null || audience !== null || Boolean(journey_id);
}

/** Refuses two audiences in one campaign: the service cannot tell the intended one. */
export function checkOneAudience({ segment_id, conditions, audience }: AudienceColumns): void {
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
 * The campaign's audience as one boolean over `players p`. Its rules refer to records as they are now, or as they were
 * when the campaign was `planned`. Throws `not_found` for a deleted segment, and `invalid` for rules that do not compile.
 */
export async function audienceSql(
  context: Tenant,
  campaign: AudienceColumns,
  planned?: Referred,
): Promise<Fragment> {
  const rules = rulesOf(campaign);
  if (!rules) return sql`p.deleted_at is null`;
  return audienceBy(context.property.id, rules, planned ?? (await referredNow(context, rules)));
}

/** The records that the audience's rules refer to, as they were when the first recipients were planned. */
export async function plannedRules(
  context: Tenant,
  campaign: AudienceColumns & { id: string },
): Promise<Referred> {
  const { sql, property } = context;
  const [kept] = await sql<{ planned_rules: Referred | null }[]>`
    select planned_rules from campaigns where property_id = ${property.id} and id = ${campaign.id}`;
  if (kept?.planned_rules) return kept.planned_rules;
  const planned = await referencesOf(context, campaign);
  await sql`
    update campaigns set planned_rules = ${planned}::jsonb
    where property_id = ${property.id} and id = ${campaign.id}`;
  return planned;
}

/** The records that the audience's rules refer to now. Throws as `audienceSql`. */
export async function referencesOf(context: Tenant, campaign: AudienceColumns): Promise<Referred> {
  const rules = rulesOf(campaign);
  return rules ? referredNow(context, rules) : { segments: [], customs: [], tiers: [] };
}

/** The players of the audience now, before the gate. */
export async function countPlayers(context: Tenant, campaign: AudienceColumns): Promise<number> {
  const { sql, property } = context;
  const [counted] = await sql<[{ count: number }]>`
    select count(*)::int as count from players p
    where p.property_id = ${property.id} and ${await audienceSql(context, campaign)}`;
  return counted.count;
}

/**
 * Warns of the values that no player has, in the audience's rules and in the segments behind them. A player whom such a
 * rule was to leave out gets the message. Of rules that do not compile the errors tell.
 */
export async function audienceWarnings(context: Tenant, campaign: AudienceColumns): Promise<string[]> {
  const rules = rulesOf(campaign);
  if (!rules) return [];
  try {
    const { segments } = await referredNow(context, rules);
    const unknown = await unknownValues(context, { groups: [rules as Group, ...segments] });
    return unknown.map((sentence) => `the audience names a value that no player has: ${sentence}`);
  } catch (error) {
    if (toFault(error).status >= 500) throw error;
    return [];
  }
}

function referredNow({ sql, property }: Tenant, rules: Partial<Group>): Promise<Referred> {
  return referredBy(sql, property.id, rules);
}

/** Null for an audience of all players. */
function rulesOf(campaign: AudienceColumns): Partial<Group> | null {
  const conditions: Condition[] = campaign.exclude_segment_ids.map((id) => ({
    field: `segment.${id}`,
    operator: "not_in_segment",
  }));
  if (campaign.segment_id !== null) {
    conditions.push({ field: `segment.${campaign.segment_id}`, operator: "in_segment" });
  }
  const { conditions: own, logic, groups: nested } = campaign;
  const groups: Group[] = own ? [{ logic, conditions: own, groups: nested }] : [];
  if (conditions.length === 0) return groups[0] ?? null;
  return { logic: "and", conditions, groups };
}

/** A campaign is sent to an audience once. */
const ONCE = "1";

/** The parts of a campaign that decide who gets its message, and when. */
export type Judged = AudienceColumns &
  Pick<
    Campaign,
    | ("id" | "channel" | "holdout_percent" | "is_transactional" | "ignore_frequency_cap" | "tags")
    | ("send_in_player_timezone" | "scheduled_at" | "fires_at" | "ab_test" | "ab_ends_at" | "quiet_hours")
  >;

/** The recipients of a plan. */
export interface People {
  /** Rows of players, with the columns `carried`. */
  page: Fragment;
  /** Names of further columns of `page`. */
  carried: readonly string[];
  /** The message's number for an address: a text, or SQL over `judged`. An address gets one copy of each number. */
  round: Fragment | string;
  /** ISO time to plan for. Default: now. */
  at?: string;
}

/** The next players of the campaign's audience in the order of their ids. */
export async function audiencePage(
  context: Tenant,
  campaign: Judged,
  { cursor, limit, planned }: { cursor: string | null; limit: number; planned?: Referred | undefined },
): Promise<People> {
  const audience = await audienceSql(context, campaign, planned);
  const page = sql`
    select p.* from players p
    where p.property_id = ${context.property.id}::uuid and p.id > ${cursor ?? NIL_UUID}::uuid and ${audience}
    order by p.id limit ${limit}::int`;
  return { page, carried: [], round: ONCE };
}

/** The CTE `judged` for the next players of the campaign's audience. */
export async function judgedCte(
  context: Tenant,
  campaign: Judged,
  cursor: string | null,
  limit: number,
  options: { count?: boolean } = {},
): Promise<Fragment> {
  return judgedPeople(context, campaign, await audiencePage(context, campaign, { cursor, limit }), options);
}

/**
 * The CTE `judged`: people with `id, address, hash, zones, region`, their carried columns, and all `reasons` against a
 * message to them.
 */
export function judgedPeople(
  { property }: Tenant,
  campaign: Judged,
  { page, carried, at }: People,
  options: { plan?: boolean; count?: boolean } = {},
): Fragment {
  const channel = sendingChannel(campaign);
  const { address, hash } = ADDRESS_COLUMNS[channel];
  const cause = options.count ? sql`, ${causeOf(channel, hash)} as cause` : raw("");
  const more = options.count ? [...carried, "cause"] : carried;
  const passed = raw(more.map((name) => `, ${name}`).join(""));
  const kept = raw(carried.map((name) => `, p.${name}`).join(""));
  const gated = sql`
    select p.id, ${address} as address, ${hash} as hash, p.zones, p.region${kept}${cause},
      ${gateReasons({ property, channel, at })} as reasons
    from (${page}) p offset 0`;
  // The review of a text may release its player before the claim, which asks the gate again.
  const inReview = options.plan ? sql`when reasons = '{needs_review}' then '{}'` : raw("");
  // Lists know addresses by their hash, so a check needs the player's hash.
  const addressed = sql`
    select id, address, hash, zones, region${passed},
      case when reasons = '{}' and hash is null then '{invalid_address}' ${inReview} else reasons end as reasons
    from (${gated}) g`;
  const drawn = sql`
    select id, address, hash, zones, region${passed},
      case when reasons = '{}' and ${heldOut(campaign)} then '{holdout}' else reasons end as reasons
    from (${addressed}) a`;
  // Planned for its values: a generic plan would take a tenth of the players for a page.
  return adHoc(cte("judged", drawn, "materialized"));
}

/** Why a player has no consent for the channel. */
function causeOf(channel: SendingChannel, hash: Fragment): Fragment {
  return sql`case when p.consents ->> ${channel}::text = 'false' then 'refused'
    when ${hash} is null then 'no_address' when p.consents ->> ${channel}::text = 'true' then 'insufficient'
    else 'never_asked' end`;
}

/** Whether chance keeps an address out of this campaign: always the same, for all players who share the address. */
export function heldOut({
  id,
  holdout_percent: percent,
}: Pick<Campaign, "id" | "holdout_percent">): Fragment {
  if (percent === 0) return sql`false`;
  const drawn = sql`sha256(convert_to(${`${id}|holdout|`}::text, 'UTF8') || hash)`;
  const share = sql`${percent}::int * 65536 / 100.0`;
  return sql`get_byte(${drawn}, 0) * 256 + get_byte(${drawn}, 1) < ${share}`;
}

/** The first allowed players of the audience, with these fields. */
export async function firstAllowed(
  context: Tenant,
  campaign: Judged,
  fields: readonly string[],
  most: number,
): Promise<Record<string, unknown>[]> {
  const judged = await judgedCte(context, campaign, null, 1000);
  const list = join(fields.map((field) => sql`p.${identifier(field)}`));
  return context.sql<Record<string, unknown>[]>`
    with ${judged}
    select p.id, j.address, ${list} from judged j
      join players p on p.property_id = ${context.property.id} and p.id = j.id
    where j.reasons = '{}' order by p.id limit ${most}`;
}
