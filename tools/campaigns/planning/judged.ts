import { adHoc, cte, type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import type { Referred } from "#tools/segments/rules/references.ts";
import { type AudienceColumns, audienceSql } from "./audience.ts";

/** A campaign is sent to an audience once. */
const ONCE = "1";

/** The parts of a campaign that decide who gets its message, and when. */
export type Judged = AudienceColumns &
  Pick<
    Campaign,
    | ("id" | "channel" | "holdout_percent" | "is_transactional" | "ignore_frequency_cap" | "tags")
    | ("send_in_player_timezone" | "scheduled_at" | "fires_at" | "ab_test" | "ab_ends_at")
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
    from (${page}) p`;
  // The review of a text may release its player before the claim, which asks the gate again.
  const inReview = options.plan ? sql`when reasons = '{needs_review}' then '{}'` : raw("");
  // Lists know addresses by their hash, so a player without a hash cannot be checked.
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
