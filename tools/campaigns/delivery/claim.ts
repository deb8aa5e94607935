import { cast, cte, type Fragment, join, raw, sql } from "#db/sql.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { settleLater } from "#tools/campaigns/campaign/jobs.ts";
import type { Recipient } from "#tools/campaigns/content/content.ts";
import { type CapOptions, capsApply, capsCtes } from "#tools/compliance/frequency.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { clockAt, hoursApply, hoursCtes, nextOpening } from "#tools/compliance/hours.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import { devicesOf } from "#tools/push-subscriptions/subscription.ts";
import type { CampaignStatus } from "#tools/statuses/campaigns.ts";
import { PLAYER_FIELDS } from "#tools/templates/rendering/liquid.ts";
import { dueSends, expiryOf, isExpired, lockWithPlayers } from "./due-sends.ts";
import { noteClaim, roomToClaim } from "./pace.ts";
import type { ProviderIdentity } from "./repeats.ts";
import { emitSendEvents, withIds } from "./send-events.ts";

export interface ClaimRequest {
  campaign: Pick<
    Campaign,
    | "id"
    | "version"
    | "tags"
    | "throttle_per_minute"
    | "ab_test"
    | "is_transactional"
    | "ignore_frequency_cap"
    | "journey_id"
    | "quiet_hours"
  >;
  channel: SendingChannel;
  provider: ProviderIdentity;
  rules: WaitingRules;
  /** Claims sends after this one. */
  after: string | null;
  limit: number;
  /** Seconds from the claim of a call to its end at the latest. */
  callSeconds?: number | null;
  /** ISO time to claim at. Default: now. */
  at?: string;
}

/** The rules that make messages of a campaign wait. Most campaigns have neither, and a shorter statement claims them. */
export interface WaitingRules {
  hours: boolean;
  caps: boolean;
}

export interface Claim {
  status: CampaignStatus;
  /** Of the campaign's content. */
  version: number;
  /** The rules that concern the campaign now. A claim whose request left one of them out takes nothing. */
  rules: WaitingRules;
  /** The number of rows taken, also those that were then skipped or deferred. */
  taken: number;
  /** The next claim continues after this send. */
  last: string | null;
  recipients: Recipient[];
  /** The note of a throttled campaign's claim. */
  noted: string | null;
}

// The vendor gets a claimed message a moment later, which must be an open hour too.
export const LEAD_SECONDS = 10;

/** A whole call must fit into the open hours. */
function leadOf({ callSeconds }: ClaimRequest): string {
  return `interval '${LEAD_SECONDS + Math.ceil(callSeconds ?? 0)} seconds'`;
}
// The time after which a player in review is checked again.
const REVIEW_AGAIN = "15 minutes";

/**
 * Takes the next rows of a campaign that is sending, and asks the gate again about the players as they are now. Blocked
 * players are skipped; players in quiet hours, capped or in review wait. Locks the campaign's row, so pausing and
 * cancelling wait for this claim, and no claim follows them. Takes nothing when the campaign has another version.
 */
export async function claimSends(context: Context, jobId: string, request: ClaimRequest): Promise<Claim> {
  const { campaign } = request;
  const throttle = campaign.throttle_per_minute;
  if (throttle === null) return claimUpTo(context, jobId, request);
  const room = await roomToClaim(context, { campaignId: campaign.id, throttle });
  const claim = await claimUpTo(context, jobId, { ...request, limit: Math.min(request.limit, room) });
  const noted = await noteClaim(context, campaign.id, claim.recipients.length);
  return { ...claim, noted };
}

/** The first row of the statement, for the whole claim. */
interface Summary {
  status: CampaignStatus;
  version: number;
  has_hours: boolean;
  has_caps: boolean;
  /** Some sends are without an outcome: the vendor may have them, and a repeat would send them twice. */
  unsettled: boolean;
  /** Ids. */
  skipped: string[];
  taken: number;
  last: string | null;
}

async function claimUpTo(context: Context, jobId: string, request: ClaimRequest): Promise<Claim> {
  const { campaign, rules } = request;
  const ids = rules.caps ? await lockWithPlayers(context, request) : null;
  const caps = capOptions(context, request);
  const parts = join([
    cte("live", liveCampaign(caps, campaign.id), "materialized"),
    cte("picked", pickedSends(context, request, ids), "materialized"),
    cte("judged", judgedSends(context, request), "materialized"),
    cte(
      "passed",
      sql`select send_id, player as id, zones, region from judged where verdict = '{}'`,
      "materialized",
    ),
    waitingCtes(caps, request),
    cte("decided", decidedSends(request), "materialized"),
    cte("claimed", claimedSends(context, jobId, request)),
  ]);
  const names = [
    "send_id",
    "address",
    ...extraColumns(request),
    ...(campaign.ab_test ? ["variant_id"] : []),
    ...PLAYER_FIELDS,
  ];
  const shown = raw(names.map((name) => `d."${name}"`).join(", "));
  const [first, ...recipients] = await context.sql<(Recipient & { summary: Summary | null })[]>`
    with ${parts}
    select json_build_object('status', l.status, 'version', l.version, 'has_hours', l.has_hours, 'has_caps', l.has_caps,
      'unsettled', exists (select from decided where next = 'unknown'),
      'skipped', array(select send_id from decided where next = 'skipped'),
      'taken', (select count(*) from picked), 'last', (select id from picked order by id desc limit 1)) as summary, ${shown}
    from live l left join decided d on false
    union all
    select null, ${shown} from decided d where d.next = 'sending'`;
  const summary = first?.summary ?? undefined;
  if (summary?.unsettled) settleLater(context, { campaignId: campaign.id });
  if (summary && summary.skipped.length > 0) {
    await emitSendEvents(context, "campaign.message_skipped", withIds(summary.skipped));
  }
  return claimOf(summary, recipients);
}

function capOptions({ property }: Context, { campaign, channel, provider, at }: ClaimRequest): CapOptions {
  const isExempt = campaign.is_transactional || campaign.ignore_frequency_cap;
  const isSimulated = provider.name === "simulator";
  const skips = campaign.quiet_hours === "skip";
  return {
    property,
    channel,
    tags: campaign.tags,
    campaignId: campaign.id,
    isExempt,
    isSimulated,
    skips,
    at,
  };
}

/** One row: the campaign, locked against changes. */
function liveCampaign(caps: CapOptions, id: string): Fragment {
  return sql`
    select status, version, ${hoursApply(caps)} as has_hours, ${capsApply(caps)} as has_caps, greatest(started_at, expires_from) as started,
        expires_after_hours
    from campaigns
    where property_id = ${caps.property.id} and id = ${id} and deleted_at is null
    for share`;
}

/** The next due sends: those that are locked already, or the first that no other claim has locked. */
function pickedSends(context: Context, request: ClaimRequest, locked: string[] | null): Fragment {
  const { property } = context;
  const { campaign, rules, limit } = request;
  const columns = sql`s.id, s.player_id, s.address_hash, s.repeats, s.created_at${campaign.ab_test ? sql`, s.variant_id` : sql``}`;
  const isLive = sql`exists (select 1 from live where status = 'sending' and version = ${campaign.version}
    and (not has_hours or ${rules.hours}) and (not has_caps or ${rules.caps}))`;
  return locked
    ? sql`select ${columns} from unnest(${locked}::uuid[]) h(id)
        join campaign_sends s on s.property_id = ${property.id} and s.id = h.id where ${isLive}`
    : sql`select ${columns} ${dueSends(context, request)} and ${isLive}
        order by s.id limit ${limit} for update of s skip locked`;
}

/** Further columns of a recipient that a channel's messages need. */
function extraColumns({ channel }: ClaimRequest): string[] {
  if (channel === "voice") return ["latest"];
  return channel === "push" ? ["devices", "latest"] : [];
}

/** The picked sends with their players as they are now, and all reasons against a message to them. */
function judgedSends({ property }: Context, { campaign, channel, at }: ClaimRequest): Fragment {
  const { address, hash } = ADDRESS_COLUMNS[channel];
  const fields = raw(PLAYER_FIELDS.map((field) => `p."${field}"`).join(", "));
  const devices = channel === "push" ? sql`${devicesOf(cast(property.id, "uuid"))} as devices,` : sql``;
  return sql`
    select s.id as send_id, s.repeats, s.created_at, ${devices} ${campaign.ab_test ? sql`s.variant_id,` : sql``} ${address} as address, ${fields},
      p.id as player, p.zones, p.region, case
        when ${isExpired(campaign, {
          started: sql`(select started from live)`,
          hours: sql`(select expires_after_hours from live)`,
          now: clockAt(at),
        })} then '{expired}'
        when p.id is null then '{erased}'
        when ${hash} is distinct from s.address_hash then '{address_changed}'
        else ${gateReasons({ property, channel, at })}
      end as verdict
    from picked s left join players p on p.property_id = ${property.id} and p.id = s.player_id`;
}

/** CTEs that end in `waiting`: the passed sends that must wait, until when and why, or that a rule skips instead. */
function waitingCtes(caps: CapOptions, request: ClaimRequest): Fragment {
  const { rules } = request;
  const lead = leadOf(request);
  if (!rules.hours && !rules.caps) {
    const nobody = sql`
      select null::uuid as send_id, false as skips, null::timestamptz as until, null::text[] as reasons where false`;
    return cte("waiting", nobody, "materialized");
  }
  const capped = rules.caps
    ? capsCtes(caps, "passed")
    : sql`caps as (select null::uuid as id, null::timestamptz as free_at)`;
  const now = clockAt(caps.at);
  const waiting = sql`
    select w.send_id, w.skips,
      coalesce(${nextOpening(sql`w.open`, sql`w.from_at`)}, ${now} + interval '8 days') as until,
      array_remove(array[case when w.is_capped then 'frequency_capped' end,
        case when not w.is_open then 'quiet_hours' end], null) as reasons
    from (
      select p.send_id, h.open, coalesce(h.is_open, true) as is_open, coalesce(h.skips, false) as skips,
        c.free_at is not null as is_capped,
        greatest(date_trunc('minute', c.free_at) + interval '1 minute', ${now}
          + case when h.open @> ${now} then ${raw(lead)} else interval '0' end) as from_at
      from passed p
        left join hours h on h.zones = p.zones and h.region = p.region
        left join caps c on c.id = p.id
    ) w
    where not w.is_open or w.is_capped`;
  return join([hoursCtes({ ...caps, lead }, "passed"), capped, cte("waiting", waiting, "materialized")]);
}

/** The judged sends with their next status, its reasons, and the time of a deferred one. */
function decidedSends({ campaign, channel, rules, at }: ClaimRequest): Fragment {
  const now = clockAt(at);
  const closing = rules.hours
    ? sql`(select upper(o) from hours h, unnest(h.open) o
        where h.zones = j.zones and h.region = j.region and o @> ${now})`
    : sql`null`;
  const expiry = expiryOf(campaign, {
    started: sql`(select started from live)`,
    hours: sql`(select expires_after_hours from live)`,
    created: sql`j.created_at`,
  });
  const latest =
    channel === "push" || channel === "voice"
      ? sql`to_json(least(${closing}, ${expiry})) #>> '{}' as latest,`
      : sql``;
  return sql`
  select j.*, ${latest} case when j.verdict = '{needs_review}' then 'deferred'
      when j.verdict <> '{}' or w.skips then case when j.repeats then 'unknown' else 'skipped' end
      when w.send_id is not null then 'deferred' else 'sending' end as next,
    coalesce(w.reasons, j.verdict) as reasons,
    case when j.verdict = '{needs_review}' then ${now} + ${REVIEW_AGAIN}::interval else w.until end as until,
    ${now} as moment
  from judged j left join waiting w on w.send_id = j.send_id`;
}

/** Writes the decisions. A repeated send keeps the time of its first claim. */
function claimedSends({ property }: Context, jobId: string, { provider }: ClaimRequest): Fragment {
  return sql`
    update campaign_sends s
    set status = d.next, skip_reasons = case when d.next = 'unknown' then '{}' else d.reasons end,
      scheduled_for = coalesce(d.until, s.scheduled_for), claimed_by = ${jobId},
      claimed_at = case when s.repeats then s.claimed_at else d.moment end, updated_at = d.moment,
      error_code = case when d.next = 'unknown' then 'interrupted' else s.error_code end,
      provider = ${provider.name}, provider_id = ${provider.id}
    from decided d
    where s.property_id = ${property.id} and s.id = d.send_id`;
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
