import type { SendingChannel } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/operation.ts";
import { gateReasons } from "#tools/compliance/gate.ts";
import { ADDRESSES } from "./addresses.ts";
import type { Status } from "./campaign.ts";
import { PLAYER_FIELDS } from "./player-fields.ts";

// Resend forgets an Idempotency-Key after a day; the mailbox forgets none.
const KNOWN_FOR_HOURS = 23;

/** A recipient who may be sent to now: the send's id and what templates know of the player. */
export interface Recipient extends Record<string, unknown> {
  send_id: string;
  /** Where the message goes. */
  address: string;
}

export interface Claim {
  status: Status;
  /** Of the campaign's content. */
  version: number;
  /** Rows taken, also those that the gate then skipped. */
  taken: number;
  /** Where the next claim goes on, so that it need not pass over all that is done. */
  last: string | null;
  recipients: Recipient[];
}

/** The provider that messages are handed to; `id` is that of its record. */
export interface Handed {
  id: string | null;
  name: string;
}

const FIRST = "00000000-0000-0000-0000-000000000000";

/**
 * Takes the next pending rows of a campaign that is sending, and asks the gate again about the players as they
 * are now: who is blocked by now is skipped. Holds the campaign's row, so that one who pauses or cancels waits
 * for this, and nothing is claimed after the answer. Takes nothing when the content has another version.
 */
export async function claimSends(
  context: Context,
  jobId: string,
  wanted: {
    campaignId: string;
    channel: SendingChannel;
    version: number;
    provider: Handed;
    after: string | null;
    limit: number;
  },
): Promise<Claim> {
  const { sql, property } = context;
  const { campaignId, channel, provider, after, limit } = wanted;
  const { address, hash } = ADDRESSES[channel];
  const fields = sql.unsafe(PLAYER_FIELDS.map((field) => `p."${field}"`).join(", "));
  const rows = await sql<(Omit<Claim, "recipients"> & Recipient & { send_id: string | null })[]>`
    with live as materialized (
      select status, version from campaigns
      where property_id = ${property.id} and id = ${campaignId} and deleted_at is null
      for share
    ), picked as materialized (
      select s.id, s.player_id, s.address_hash
      from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id = ${campaignId} and s.status = 'pending'
        and s.id > ${after ?? FIRST} and (s.scheduled_for is null or s.scheduled_for <= now())
        and (not s.repeats or (s.provider = ${provider.name} and s.provider_id is not distinct from ${provider.id}))
        and exists (select 1 from live where status = 'sending' and version = ${wanted.version})
      order by s.id limit ${limit}
      for update of s skip locked
    ), judged as materialized (
      select k.id as send_id, ${sql.unsafe(address)} as address, ${fields}, case
          when p.id is null then '{erased}'
          when ${sql.unsafe(hash)} is distinct from k.address_hash then '{address_changed}'
          else ${gateReasons(sql, { property, channel })}
        end as reasons
      from picked k left join players p on p.property_id = ${property.id} and p.id = k.player_id
    ), claimed as (
      update campaign_sends s
      set status = case when j.reasons = '{}' then 'sending' else 'skipped' end, skip_reasons = j.reasons,
        claimed_by = ${jobId}, claimed_at = now(), updated_at = now(), provider = ${provider.name},
        provider_id = ${provider.id}
      from judged j
      where s.property_id = ${property.id} and s.id = j.send_id
    )
    select l.status as campaign_status, l.version, (select count(*)::int from picked) as taken,
      (select id from picked order by id desc limit 1) as last, j.*
    from live l left join judged j on j.reasons = '{}'`;
  const [first] = rows;
  if (!first) return { status: "cancelled", version: 0, taken: 0, last: null, recipients: [] };
  const { campaign_status, version, taken, last } = first as unknown as Claim & { campaign_status: Status };
  return {
    status: campaign_status,
    version,
    taken,
    last,
    recipients: rows.filter((row) => row.send_id !== null),
  };
}

/**
 * What this job, or one that is no more, had claimed when it broke off. The vendor may have it. Where the vendor
 * knows the message again it is sent once more, by the same vendor and no other; else it is never repeated.
 */
export async function recoverSends(
  { sql, property }: Context,
  jobId: string,
  { campaignId, repeatable }: { campaignId: string; repeatable: Handed | null },
): Promise<void> {
  // null is distinct from every vendor's name: without a repeatable one nothing is repeated.
  const known = sql`(s.provider is not distinct from ${repeatable?.name ?? null}::text and s.provider is not null
    and s.provider_id is not distinct from ${repeatable?.id ?? null}::uuid
    and (s.provider_id is null or s.claimed_at > now() - make_interval(hours => ${KNOWN_FOR_HOURS})))`;
  await sql`
    update campaign_sends s
    set status = case when r.known then 'pending' else 'unknown' end, repeats = r.known,
      error_code = case when not r.known then 'interrupted' end, updated_at = now()
    from (
      select s.id, ${known} and c.status <> 'cancelled' as known
      from campaign_sends s join campaigns c on c.property_id = ${property.id} and c.id = s.campaign_id
      where s.property_id = ${property.id} and s.campaign_id = ${campaignId}
        and ((s.status = 'sending' and (s.claimed_by = ${jobId}
            or not exists (select 1 from queue q where q.id = s.claimed_by and q.state <> 'dead')))
          or (s.status = 'pending' and s.repeats and not ${known}))
      for update of s
    ) r
    where s.property_id = ${property.id} and s.id = r.id`;
}
