import { type Fragment, literals, raw, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { SHARED } from "#tools/compliance/gate.ts";
import { clockAt } from "#tools/compliance/hours.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { openOnly } from "./open-sends.ts";
import { secondsToRoom } from "./pace.ts";
import { type ProviderIdentity, REMEMBERED_SINCE, recognizes } from "./repeats.ts";

// Choosing a winner takes longer in a large campaign alone. The choice starts a delivery by itself.
const CHOICE_SECONDS = 10;
interface DueRequest {
  campaign: Pick<Campaign, "id" | "ab_test" | "journey_id">;
  channel: SendingChannel;
  provider: ProviderIdentity;
  after: string | null;
  limit: number;
  /** ISO time of the claim. Default: now. */
  at?: string | undefined;
}

/** The campaign's due sends after the last claim, as the rest of a select over `campaign_sends s`. */
export function dueSends({ property }: Tenant, request: DueRequest): Fragment {
  const { campaign, provider, after, at } = request;
  const now = clockAt(at);
  const ofCampaign = (value: Fragment) => sql`(
    select ${value} from campaigns c where c.property_id = ${property.id} and c.id = ${campaign.id})`;
  const started = ofCampaign(sql`greatest(c.started_at, c.expires_from)`);
  const hours = ofCampaign(sql`c.expires_after_hours`);
  // A send without a variant waits for the winner of the test.
  const hasVariant = campaign.ab_test ? sql`and s.variant_id is not null` : sql``;
  return sql`from campaign_sends s
    where s.property_id = ${property.id} and s.campaign_id = ${campaign.id} and s.id > ${after ?? NIL_UUID}
      and s.status in (${literals(WAITING_SENDS)}) ${openOnly(campaign)}
      and (not s.repeats or ${recognizes(provider, REMEMBERED_SINCE)})
      and (s.scheduled_for is null or s.scheduled_for <= ${now} or ${isExpired(campaign, { started, hours, now })})
      ${hasVariant}`;
}

/** Whether a send `s` has expired at a time. */
export function isExpired(
  campaign: Pick<Campaign, "journey_id">,
  { now, ...times }: Record<"started" | "hours" | "now", Fragment>,
): Fragment {
  return sql`coalesce(${expiryOf(campaign, { ...times, created: sql`s.created_at` })} <= ${now}, false)`;
}

/**
 * The time when a send expires: its campaign's hours after the start, or after the end of the test. A journey's
 * campaign has no end, so its sends expire by their own age.
 */
export function expiryOf(
  { journey_id }: Pick<Campaign, "journey_id">,
  { started, hours, created }: Record<"started" | "hours" | "created", Fragment>,
): Fragment {
  const since = journey_id ? sql`greatest(${started}, ${created})` : started;
  return sql`(${since} + make_interval(hours => ${hours}))`;
}

/**
 * Locks the next due sends with all players who have their addresses, to the end of the transaction. Meanwhile no other
 * campaign can count and claim for these players. Leaves locked sends and players to a later claim, and never waits.
 */
export async function lockWithPlayers(context: Tenant, request: DueRequest): Promise<string[]> {
  const { sql: db, property } = context;
  const { hash } = ADDRESS_COLUMNS[request.channel];
  const sharers = SHARED[request.channel]
    ? sql`union
      select k.id, p.id from picked k
        join players p on p.property_id = ${property.id} and ${hash} = k.address_hash`
    : raw("");
  const rows = await db<{ id: string }[]>`
    with picked as materialized (
      select s.id, s.player_id, s.address_hash ${dueSends(context, request)}
      order by s.id limit ${request.limit}
      for update of s skip locked
    ), holders as materialized (
      select id as send_id, player_id as id from picked where player_id is not null
      ${sharers}
    ), locked as materialized (
      select p.id from players p
      where p.property_id = ${property.id} and p.id in (select id from holders)
      for no key update of p skip locked
    )
    select id from picked
    where id not in (select send_id from holders where id not in (select id from locked))
    order by id`;
  return rows.map(({ id }) => id);
}

/** Seconds until a waiting send can be claimed; null when none waits. */
export async function secondsToNextClaim(
  context: Tenant,
  campaign: Pick<Campaign, "id" | "throttle_per_minute" | "journey_id">,
): Promise<number | null> {
  const { sql, property } = context;
  const { id, throttle_per_minute: throttle } = campaign;
  const [next] = await sql<{ wait: number | null }[]>`
    select extract(epoch from min(${DUE_AT}) - now())::double precision as wait
    from campaign_sends s join campaigns c on c.property_id = ${property.id} and c.id = s.campaign_id
    where s.property_id = ${property.id} and s.campaign_id = ${id} and s.status in (${literals(WAITING_SENDS)})
      ${openOnly(campaign)}`;
  if (next?.wait === null || next?.wait === undefined) return null;
  const room = throttle === null ? 0 : await secondsToRoom(context, { campaignId: id, throttle });
  return Math.max(0, next.wait, room);
}

// A send that waits for a winner is due when the choice is; a send that waits too long is due when it expires.
const DUE_AT = sql`case when c.ab_test is null or s.variant_id is not null
    then least(coalesce(s.scheduled_for, now()),
      greatest(c.started_at, c.expires_from, case when c.journey_id is not null then s.created_at end)
        + make_interval(hours => c.expires_after_hours))
  else greatest(c.ab_ends_at, now() + make_interval(secs => ${CHOICE_SECONDS})) end`;
