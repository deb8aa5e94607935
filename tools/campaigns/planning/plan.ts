import { adHoc, cast, cte, type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { drawnVariant } from "#tools/campaigns/campaign/ab-test.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import type { NoConsent } from "#tools/campaigns/stats/answer.ts";
import { capsCtes } from "#tools/compliance/frequency.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { clockAt, hoursCtes, nextOpening } from "#tools/compliance/hours.ts";
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
async function audiencePage(
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
function judgedPeople(
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

interface PlannedPage {
  count: number;
  last: string | null;
}

/**
 * Writes a send for each of the next `limit` players after the campaign's cursor: pending, deferred, or skipped with
 * every reason. A deferred send waits for the player's own time, their next open hour or the end of a test. An address
 * that has its send already, by any player, gets no second message.
 */
export async function planPage(
  context: Tenant,
  campaign: Campaign,
  limit: number,
  planned?: Referred,
): Promise<PlannedPage> {
  const people = await audiencePage(context, campaign, { cursor: campaign.plan_cursor, limit, planned });
  const [page] = await context.sql<[PlannedPage]>`
    with ${plannedCtes(context, campaign, people)}
    select count(*)::int as count, (array_agg(id order by id))[count(*)::int] as last from judged`;
  return page;
}

/**
 * CTEs that write a send for each of the people, beginning with `judged`. They end in `planned (key, send_id)` and
 * `doubled (key, send_id)`: the people who get a message of their own, and those whose address another one has.
 */
export function plannedCtes(context: Tenant, campaign: Campaign, people: People): Fragment {
  return join([
    judgedPeople(context, campaign, people, { plan: true }),
    waitingCtes(context, campaign, people.at),
    sendCtes(context, campaign, people),
  ]);
}

function sendCtes({ property }: Tenant, campaign: Campaign, { carried, round, at }: People): Fragment {
  const channel = sendingChannel(campaign);
  const { masked } = ADDRESS_COLUMNS[channel];
  const drawn = drawnSql(campaign);
  const isEnrolled = carried.includes("enrollment_id");
  const enrollment = isEnrolled ? raw("enrollment_id") : sql`null::uuid`;
  const key = raw(isEnrolled ? "enrollment_id" : "player_id");
  const columns = raw(`property_id, id, campaign_id, player_id, enrollment_id, channel, status, skip_reasons,
    address_hash, address_masked, dedupe_key, created_at, updated_at`);
  const written = at === undefined ? sql`now(), now()` : sql`${clockAt(at)}, ${clockAt(at)}`;
  const own = sql`${property.id}::uuid, uuid_v7(), ${campaign.id}::uuid, id, ${enrollment}, ${raw(`'${channel}'`)}`;
  const prefix = (what: string) =>
    typeof round === "string"
      ? sql`${`${campaign.id}|${round}|${what}|`}::text`
      : sql`(${`${campaign.id}|`}::text || ${round} || ${`|${what}|`}::text)`;
  const addressKey = sql`sha256(convert_to(${prefix(channel)}, 'UTF8') || hash)`;
  const playerKey = sql`sha256(convert_to(${prefix("player")}, 'UTF8') || uuid_send(id))`;
  // One send a player; an allowed player's is keyed by the address.
  const planned = sql`
    insert into campaign_sends (${columns}, scheduled_for${drawn.column})
    select ${own},
      case when reasons <> '{}' then 'skipped' when until is not null or ${drawn.waits} then 'deferred' else 'pending' end,
      case when reasons <> '{}' then reasons when ${drawn.waits} then '{ab_test}' else coalesce(waits, '{}') end, hash, ${masked},
      case when reasons = '{}' then ${addressKey} else ${playerKey} end, ${written},
      case when ${drawn.waits} then ${drawn.until} when reasons = '{}' then until end${drawn.column}
    from ${drawn.source} left join waiting using (zones, region) order by id
    on conflict (property_id, dedupe_key) do nothing
    returning ${key} as key, id as send_id`;
  // Players whose address has its send by another player.
  const doubled = sql`
    insert into campaign_sends (${columns})
    select ${own}, 'skipped', '{duplicate_address}', hash, ${masked}, ${playerKey}, ${written}
    from judged where reasons = '{}' and ${raw(isEnrolled ? "enrollment_id" : "id")} not in (select key from planned)
    on conflict (property_id, dedupe_key) do nothing
    returning ${key} as key, id as send_id`;
  return join([cte("planned", planned), cte("doubled", doubled)]);
}

/** Adds each recipient's variant to the plan. A recipient without one `waits` for the winner. */
function drawnSql({ id, ab_test, ab_ends_at }: Judged) {
  if (!ab_test) {
    return { source: sql`judged`, column: raw(""), waits: sql`false`, until: sql`null::timestamptz` };
  }
  const variant = sql`case when reasons = '{}' then ${drawnVariant(id, ab_test)} end`;
  return {
    source: sql`(select *, ${variant} as variant_id from judged) judged`,
    column: sql`, variant_id`,
    waits: sql`(reasons = '{}' and variant_id is null)`,
    until: sql`${ab_ends_at!}::timestamptz`,
  };
}

/**
 * CTEs that end in `waiting (zones, region, until, waits)`: the places whose players must wait, until when and why. A
 * rule that skips players is left to the claim.
 */
function waitingCtes({ property }: Tenant, campaign: Judged, at?: string): Fragment {
  const now = clockAt(at);
  const hours = hoursCtes({ property, channel: sendingChannel(campaign), at }, "judged");
  const local = cte("local_times", localTimes(property, campaign), "materialized");
  const waiting = sql`
    select zones, region, coalesce(${nextOpening(sql`open`, sql`from_at`)}, from_at) as until,
      case when local_at > ${now} then '{player_timezone}'::text[] else '{quiet_hours}' end as waits
    from (
      select zones, region, h.open, l.local_at, h.is_open, h.skips,
        greatest(${now}, l.local_at) as from_at
      from hours h full join local_times l using (zones, region)
    ) w
    where local_at > ${now} or not is_open and not skips`;
  return join([hours, local, cte("waiting", waiting, "materialized")]);
}

/** The moment at which the clocks of a place, in all its zones, show the property's time of the schedule. */
function localTimes(property: Tenant["property"], campaign: Judged): Fragment {
  const { fires_at, scheduled_at, send_in_player_timezone } = campaign;
  if (!send_in_player_timezone || fires_at === null || scheduled_at === null) {
    return sql`select '{}'::text[] as zones, '' as region, null::timestamptz as local_at where false`;
  }
  const home = cast(property.timezone, "text");
  return sql`select p.zones, p.region,
      max((${scheduled_at}::timestamptz at time zone ${home}) at time zone known_zone(z.zone, ${home})) as local_at
    from (select distinct zones, region from judged) p
      cross join lateral unnest(case when p.zones = '{}' then array[${home}] else p.zones end) z(zone)
    group by p.zones, p.region`;
}

export interface Judgement {
  count: number;
  last: string | null;
  blocked: { reasons: string[]; cause: keyof NoConsent; count: number }[];
  /** The allowed who wait, each once. */
  deferred: { reason: string; count: number; first_at: string; last_at: string }[];
  /** The first `ADDRESS_BYTES` of the hash of each allowed address. */
  addresses: Buffer;
}

/** Enough to distinguish a million addresses: two of them look the same once in 500 times. */
export const ADDRESS_BYTES = 6;

/** The gate's judgement of the next `limit` players of the audience now. Writes nothing. */
export async function judgePage(
  context: Tenant,
  campaign: Judged,
  cursor: string | null,
  limit: number,
): Promise<Judgement> {
  const judged = await judgedCte(context, campaign, cursor, limit, { count: true });
  const [judgement] = await context.sql<[Judgement]>`
    with ${judged}, grouped as (
      select reasons, cause, count(*)::int as count from judged where reasons <> '{}' group by reasons, cause
    ), ${deferredCtes(context, campaign)}
    select count(*)::int as count, (array_agg(id order by id))[count(*)::int] as last,
      coalesce((select json_agg(g) from grouped g), '[]') as blocked,
      coalesce((select json_agg(d) from deferred d), '[]') as deferred,
      coalesce(string_agg(substr(hash, 1, ${raw(String(ADDRESS_BYTES))}), '') filter (where reasons = '{}'), '') as addresses
    from judged`;
  return judgement;
}

/** CTEs that end in `deferred`: the allowed who wait, by reason, with the first and last time. */
function deferredCtes(context: Tenant, campaign: Judged): Fragment {
  const { property } = context;
  const isExempt = campaign.is_transactional || campaign.ignore_frequency_cap;
  const channel = sendingChannel(campaign);
  const options = { property, channel, tags: campaign.tags, isExempt };
  const allowed = sql`select id, zones, region from judged where reasons = '{}'`;
  const caps =
    isExempt && channel !== "voice"
      ? cte("caps", sql`select null::uuid as id, null::timestamptz as free_at where false`)
      : capsCtes(options, "allowed");
  const deferred = sql`
    select case when c.free_at > coalesce(w.until, '-infinity') then 'frequency_capped' else w.waits[1] end as reason,
      count(*)::int as count, min(greatest(c.free_at, w.until)) as first_at, max(greatest(c.free_at, w.until)) as last_at
    from allowed a left join waiting w using (zones, region) left join caps c using (id)
    where w.until is not null or c.free_at is not null
    group by 1`;
  return join([
    cte("allowed", allowed, "materialized"),
    waitingCtes(context, campaign),
    caps,
    cte("deferred", deferred),
  ]);
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
