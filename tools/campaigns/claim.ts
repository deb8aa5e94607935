import { NIL_UUID } from "#db/types.ts";
import type { SendingChannel } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/context.ts";
import { type CapOptions, capsApply, capsText } from "#tools/compliance/frequency.ts";
import { asFragment, gateReasons } from "#tools/compliance/gate.ts";
import { hoursApply, hoursText, nextOpening } from "#tools/compliance/hours.ts";
import { ADDRESSES } from "./addresses.ts";
import { announceSends, withIds } from "./announce.ts";
import type { Campaign, Status } from "./campaign.ts";
import { noteClaim, roomToClaim } from "./pace.ts";
import { PLAYER_FIELDS } from "./player-fields.ts";
import { settleLater } from "./settle-sends.job.ts";

// Resend forgets an Idempotency-Key after a day; the mailbox forgets none.
const KNOWN_FOR_HOURS = 23;

/** A recipient who may be sent to now: the send's id and what templates know of the player. */
export interface Recipient extends Record<string, unknown> {
  send_id: string;
  /** Where the message goes. */
  address: string;
  /** Of a campaign that tries variants. */
  variant_id?: string;
}

export interface Claim {
  status: Status;
  /** Of the campaign's content. */
  version: number;
  /** The rules that bear on the campaign now: nothing was taken where the question left one of them out. */
  rules: Rules;
  /** Rows taken, also those that were then skipped or deferred. */
  taken: number;
  /** Where the next claim goes on, so that it need not pass over all that is done. */
  last: string | null;
  recipients: Recipient[];
  /** Where a throttled campaign's claim is counted. */
  noted: string | null;
}

/** The provider that messages are handed to; `id` is that of its record. */
export interface Handed {
  id: string | null;
  name: string;
}

/** What can make a message of the campaign wait. Most campaigns are under neither, and claimed by less of a query. */
export interface Rules {
  hours: boolean;
  caps: boolean;
}

export interface Wanted {
  campaign: Pick<Campaign, "id" | "version" | "tags" | "throttle_per_minute" | "ab_test"> & Exempting;
  channel: SendingChannel;
  provider: Handed;
  rules: Rules;
  after: string | null;
  limit: number;
}

type Exempting = Pick<Campaign, "is_transactional" | "ignore_frequency_cap">;

/** What a campaign has not handed over so long after its start, or after the test that it waited for, is stale. */
export const EXPIRES_AFTER_HOURS = 72;
// A claimed message is with the vendor a moment later, and that moment must be open too.
const LEAD = "interval '10 seconds'";
// A number that is held is asked about again after so long.
const REVIEW_AGAIN = "15 minutes";

/**
 * Takes the next rows of a campaign that is sending, and asks the gate again about the players as they are now:
 * who is blocked by now is skipped; who is in quiet hours, capped or held for review waits. Holds the campaign's row, so that one
 * who pauses or cancels waits for this, and nothing is claimed after the answer. Takes nothing when the campaign
 * has another version.
 */
export async function claimSends(context: Context, jobId: string, wanted: Wanted): Promise<Claim> {
  const { campaign } = wanted;
  const throttle = campaign.throttle_per_minute;
  if (throttle === null) return claimUpTo(context, jobId, wanted);
  const room = await roomToClaim(context, { campaignId: campaign.id, throttle });
  const claim = await claimUpTo(context, jobId, { ...wanted, limit: Math.min(wanted.limit, room) });
  const noted = await noteClaim(context, campaign.id, claim.recipients.length);
  return { ...claim, noted };
}

async function claimUpTo(context: Context, jobId: string, wanted: Wanted): Promise<Claim> {
  const { sql, property } = context;
  const { campaign, channel, provider, rules } = wanted;
  const { address, hash } = ADDRESSES[channel];
  const fields = sql.unsafe(PLAYER_FIELDS.map((field) => `p."${field}"`).join(", "));
  const names = ["send_id", "address", ...(campaign.ab_test ? ["variant_id"] : []), ...PLAYER_FIELDS];
  const shown = sql.unsafe(names.map((name) => `d."${name}"`).join(", "));
  const variant = campaign.ab_test ? sql`, s.variant_id` : sql``;
  const caps = { property, channel, tags: campaign.tags, campaignId: campaign.id };
  const held = rules.caps ? await holdPlayers(context, wanted) : null;
  const live = sql`exists (select 1 from live where status = 'sending' and version = ${campaign.version}
    and (not has_hours or ${rules.hours}) and (not has_caps or ${rules.caps}))`;
  const picked = held
    ? sql`select s.id, s.player_id, s.address_hash, s.repeats${variant} from unnest(${held}::uuid[]) h(id)
        join campaign_sends s on s.property_id = ${property.id} and s.id = h.id where ${live}`
    : sql`select s.id, s.player_id, s.address_hash, s.repeats${variant} ${dueSends(context, wanted)} and ${live}
        order by s.id limit ${wanted.limit} for update of s skip locked`;
  const rows = await sql`
    with live as materialized (
      select status, version, ${asFragment(sql, (bind) => hoursApply(bind, caps))} as has_hours,
        ${exempt(campaign) ? sql`false` : asFragment(sql, (bind) => capsApply(bind, caps))} as has_caps,
        coalesce(greatest(started_at, expires_from) <= now() - make_interval(hours => ${EXPIRES_AFTER_HOURS}), false) as is_late
      from campaigns
      where property_id = ${property.id} and id = ${campaign.id} and deleted_at is null
      for share
    ), picked as materialized (${picked}), judged as materialized (
      select k.id as send_id, k.repeats, ${campaign.ab_test ? sql`k.variant_id,` : sql``} ${sql.unsafe(address)} as address, ${fields}, p.id as player, p.zones, p.region, case
          when (select is_late from live) then '{expired}'
          when p.id is null then '{erased}'
          when ${sql.unsafe(hash)} is distinct from k.address_hash then '{address_changed}'
          else ${gateReasons(sql, { property, channel })}
        end as verdict
      from picked k left join players p on p.property_id = ${property.id} and p.id = k.player_id
    ), passed as materialized (
      select send_id, player as id, zones, region from judged where verdict = '{}'
    ), ${waiting(sql, rules, caps)}, decided as materialized (
      select j.*, case when j.verdict = '{needs_review}' then 'deferred'
          when j.verdict <> '{}' or w.skips then case when j.repeats then 'unknown' else 'skipped' end
          when w.send_id is not null then 'deferred' else 'sending' end as next,
        coalesce(w.reasons, j.verdict) as reasons,
        case when j.verdict = '{needs_review}' then statement_timestamp() + ${REVIEW_AGAIN}::interval else w.until end as until
      from judged j left join waiting w on w.send_id = j.send_id
    ), claimed as (
      update campaign_sends s
      set status = d.next, skip_reasons = case when d.next = 'unknown' then '{}' else d.reasons end, scheduled_for = coalesce(d.until, s.scheduled_for),
        claimed_by = ${jobId}, claimed_at = case when s.repeats then s.claimed_at else statement_timestamp() end, updated_at = now(),
        error_code = case when d.next = 'unknown' then 'interrupted' else s.error_code end,
        provider = ${provider.name}, provider_id = ${provider.id}
      from decided d
      where s.property_id = ${property.id} and s.id = d.send_id
    )
    select json_build_object('status', l.status, 'version', l.version, 'has_hours', l.has_hours, 'has_caps', l.has_caps,
      'unsettled', exists (select from decided where next = 'unknown'),
      'skipped', array(select send_id from decided where next = 'skipped'),
      'taken', (select count(*) from picked), 'last', (select id from picked order by id desc limit 1)) as summary, ${shown}
    from live l left join decided d on false
    union all
    select null, ${shown} from decided d where d.next = 'sending'`;
  const [first, ...recipients] = rows as unknown as [{ summary: Summary }?, ...Recipient[]];
  const summary = first?.summary;
  if (summary?.unsettled) settleLater(context, { campaignId: campaign.id });
  if (summary && summary.skipped.length > 0) {
    await announceSends(context, "campaign.message_skipped", withIds(context, summary.skipped));
  }
  return claimOf(summary, recipients);
}

/** The first row, which tells of the whole claim. */
interface Summary {
  status: Status;
  version: number;
  has_hours: boolean;
  has_caps: boolean;
  /** Some that the vendor may have are not to be repeated: nobody can tell what became of them. */
  unsettled: boolean;
  /** Sends that nobody gets any more. */
  skipped: string[];
  taken: number;
  last: string | null;
}

function claimOf(summary: Summary | undefined, recipients: Recipient[]): Claim {
  if (!summary) {
    const rules = { hours: false, caps: false };
    return { status: "cancelled", version: 0, rules, taken: 0, last: null, recipients: [], noted: null };
  }
  return {
    status: summary.status,
    version: summary.version,
    rules: { hours: summary.has_hours, caps: summary.has_caps },
    taken: summary.taken,
    last: summary.last,
    noted: null,
    recipients,
  };
}

/** A CTE of those among `passed` who have to wait: until when, why, and whether a rule leaves them out instead. */
function waiting(sql: Context["sql"], rules: Rules, caps: CapOptions) {
  if (!rules.hours && !rules.caps) {
    return sql`waiting as materialized (
      select null::uuid as send_id, false as skips, null::timestamptz as until, null::text[] as reasons where false)`;
  }
  return asFragment(
    sql,
    (bind) => `${hoursText(bind, { ...caps, lead: LEAD }, "passed")},
    ${rules.caps ? capsText(bind, caps, "passed") : "caps as (select null::uuid as id, null::timestamptz as free_at)"},
    waiting as materialized (
      select w.send_id, w.skips,
        coalesce(${nextOpening("w.open", "w.from_at")}, statement_timestamp() + interval '8 days') as until,
        array_remove(array[case when w.is_capped then 'frequency_capped' end,
          case when not w.is_open then 'quiet_hours' end], null) as reasons
      from (
        select p.send_id, h.open, coalesce(h.is_open, true) as is_open, coalesce(h.skips, false) as skips,
          c.free_at is not null as is_capped,
          greatest(date_trunc('minute', c.free_at) + interval '1 minute', statement_timestamp()
            + case when h.open @> statement_timestamp() then ${LEAD} else interval '0' end) as from_at
        from passed p
          left join hours h on h.zones = p.zones and h.region = p.region
          left join caps c on c.id = p.id
      ) w
      where not w.is_open or w.is_capped
    )`,
  );
}

function exempt({ is_transactional, ignore_frequency_cap }: Exempting): boolean {
  return is_transactional || ignore_frequency_cap;
}

/**
 * Whether a provider would know a send again that it may have, as SQL. `claimed_at` of what is to be repeated stays
 * that of its first claim, however often it waits in between.
 */
function knows(sql: Context["sql"], { name, id }: Handed) {
  return sql`(s.provider is not distinct from ${name}::text and s.provider_id is not distinct from ${id}::uuid
    and (s.provider_id is null or s.claimed_at > now() - make_interval(hours => ${KNOWN_FOR_HOURS})))`;
}

/** The campaign's rows that are due after the last claim, and do not wait for a winner, as the rest of a select over `campaign_sends s`. */
function dueSends({ sql, property }: Context, { campaign, provider, after }: Wanted) {
  return sql`from campaign_sends s
    where s.property_id = ${property.id} and s.campaign_id = ${campaign.id} and s.id > ${after ?? NIL_UUID}
      and s.status in ('pending', 'deferred')
      and (not s.repeats or ${knows(sql, provider)})
      and (s.scheduled_for is null or s.scheduled_for <= now() or exists (
        select from campaigns c where c.property_id = ${property.id} and c.id = ${campaign.id}
          and greatest(c.started_at, c.expires_from) <= now() - make_interval(hours => ${EXPIRES_AFTER_HOURS})))
      ${campaign.ab_test ? sql`and s.variant_id is not null` : sql``}`;
}

/**
 * The next due sends with all players who have their addresses, locked to the end of the transaction: no other
 * campaign can count and claim for these until then. Nobody waits here; what somebody holds is left for a later claim.
 */
async function holdPlayers(context: Context, wanted: Wanted): Promise<string[]> {
  const { sql, property } = context;
  const hash = sql.unsafe(ADDRESSES[wanted.channel].hash);
  const rows = await sql<{ id: string }[]>`
    with picked as materialized (
      select s.id, s.player_id, s.address_hash ${dueSends(context, wanted)}
      order by s.id limit ${wanted.limit}
      for update of s skip locked
    ), holders as materialized (
      select id as send_id, player_id as id from picked where player_id is not null
      union
      select k.id, p.id from picked k join players p on p.property_id = ${property.id} and ${hash} = k.address_hash
    ), held as materialized (
      select p.id from players p
      where p.property_id = ${property.id} and p.id in (select id from holders)
      for no key update of p skip locked
    )
    select id from picked
    where id not in (select send_id from holders where id not in (select id from held))
    order by id`;
  return rows.map(({ id }) => id);
}

/**
 * What this job, or one that is no more, had claimed when it broke off. The vendor may have it. Where the vendor
 * knows the message again it is sent once more, by the same vendor and no other; else it is never repeated.
 */
export async function recoverSends(
  context: Context,
  jobId: string,
  { campaignId, repeatable }: { campaignId: string; repeatable: Handed | null },
): Promise<void> {
  const { sql, property } = context;
  const known = repeatable ? knows(sql, repeatable) : sql`false`;
  // In one pass: of a property that the statistics do not know, a join reads all of its sends for each of them.
  const recovered = await sql<{ status: string }[]>`
    with campaign as materialized (
      select status <> 'cancelled' as goes_on from campaigns
      where property_id = ${property.id} and id = ${campaignId}
    )
    update campaign_sends s
    set status = case when c.goes_on and ${known} then 'pending' else 'unknown' end, repeats = c.goes_on and ${known},
      claimed_by = null, error_code = case when c.goes_on and ${known} then null else 'interrupted' end, updated_at = now()
    from campaign c
    where s.property_id = ${property.id} and s.campaign_id = ${campaignId}
      and ((s.status = 'sending' and (s.claimed_by = ${jobId}
          or not exists (select 1 from queue q where q.id = s.claimed_by and q.state <> 'dead')))
        or (s.status in ('pending', 'deferred') and s.repeats and not ${known}))
    returning s.status`;
  if (recovered.some(({ status }) => status === "unknown")) settleLater(context, { campaignId });
}
