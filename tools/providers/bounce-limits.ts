import { byteaLiteral } from "#db/types.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { cancelOpenSends } from "#tools/compliance/sends-under-way.ts";
import {
  announceSuppressed,
  WRITTEN,
  type WrittenSuppression,
} from "#tools/compliance/suppression-events.ts";
import { revoke, revokedWith } from "#tools/consent/revoke.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import type { VendorChannel } from "./provider.ts";

/** A notice's consequence for its address. */
export interface Consequence {
  kind: "hard" | "soft" | "complained" | "unsubscribed";
  /** The address that the message went to, as the hash in hex. */
  hash: string;
  playerId: string | null;
  campaignId: string | null;
  /** No message of ours is known for the notice. It acts at once, because the limit counts known messages alone. */
  uncounted?: boolean;
}

interface Reached {
  hash: string;
  address: string | null;
  reason: "hard_bounce" | "soft_bounce_limit" | "complaint";
}

const SOFT_WITHIN_DAYS = 7;

/**
 * Bounces and complaints become suppressions at the property's limit. Complaints and unsubscriptions also revoke
 * consent. Open sends to the address are cancelled.
 */
export async function applyConsequences(
  context: Context,
  { channel, kind }: { channel: VendorChannel; kind: string },
  all: readonly Consequence[],
): Promise<void> {
  const counted = all.filter((one) => one.kind !== "unsubscribed" && !one.uncounted);
  const reached = counted.length > 0 ? await limitsReached(context, channel, counted) : [];
  const bounced = reached.filter(({ reason }) => reason !== "complaint");
  if (bounced.length > 0) await suppress(context, { channel, source: kind }, bounced, counted);
  const complaints = new Set(reached.filter(({ reason }) => reason === "complaint").map(({ hash }) => hash));
  const complained = all.filter(
    (one) => one.kind === "complained" && (one.uncounted || complaints.has(one.hash)),
  );
  await takeBack(context, { channel, source: kind, method: "complaint" }, complained);
  const left = all.filter((one) => one.kind === "unsubscribed");
  await takeBack(context, { channel, source: kind, method: "provider" }, left);
}

/** Counted over all sends to the address, to every player who has or had it. */
function limitsReached(
  { sql, property }: Context,
  channel: VendorChannel,
  counted: readonly Consequence[],
): Promise<Reached[]> {
  const { address, hash: column } = ADDRESS_COLUMNS[channel];
  const rows = counted.map(({ kind, hash }) => ({ kind, hash }));
  return sql<Reached[]>`
    with hit as materialized (
      select kind, decode(hash, 'hex') as hash from jsonb_to_recordset(${rows}::jsonb) as h(kind text, hash text)
    ), counted as (
      select s.address_hash as hash, count(*) filter (where s.bounce_type = 'hard') as hard,
        count(*) filter (where s.bounce_type = 'soft'
          and s.bounced_at > now() - make_interval(days => ${SOFT_WITHIN_DAYS})) as soft,
        count(*) filter (where s.complained_at is not null) as complained
      from campaign_sends s
      where s.property_id = ${property.id} and s.address_hash in (select hash from hit) and s.channel = ${channel}
      group by s.address_hash
    )
    select distinct encode(h.hash, 'hex') as hash,
      (select max(${address}) from players p where p.property_id = ${property.id} and ${column} = h.hash) as address,
      case h.kind when 'hard' then 'hard_bounce' when 'soft' then 'soft_bounce_limit' else 'complaint' end as reason
    from hit h left join counted c on c.hash = h.hash, properties l
    where l.id = ${property.id} and case h.kind
      when 'hard' then greatest(c.hard, 1) >= l.hard_bounce_limit
      when 'soft' then greatest(c.soft, 1) >= l.soft_bounce_limit
      else greatest(c.complained, 1) >= l.complaint_limit end`;
}

async function suppress(
  { sql, property, emit }: Context,
  { channel, source }: { channel: VendorChannel; source: string },
  reached: readonly Reached[],
  counted: readonly Consequence[],
): Promise<void> {
  const rows = reached.map((one) => {
    const cause = counted.find(({ hash }) => hash === one.hash);
    return { ...one, player_id: cause?.playerId ?? null, campaign_id: cause?.campaignId ?? null };
  });
  const suppressed = await sql<WrittenSuppression[]>`
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source, campaign_id, player_id)
    select ${property.id}, uuid_v7(), ${channel}, address, decode(hash, 'hex'), reason, ${source}, campaign_id, player_id
    from jsonb_to_recordset(${rows}::jsonb)
      as r(hash text, address text, reason text, player_id uuid, campaign_id uuid)
    order by hash, reason
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, updated_at = excluded.updated_at
    returning ${WRITTEN}`;
  announceSuppressed({ emit }, suppressed);
  const players = await playersWith({ sql, property }, channel, rows);
  await cancelOpenSends({ sql, property }, players, [channel], "suppressed");
}

/** The players who now have one of the addresses. */
async function playersWith(
  { sql, property }: Tenant,
  channel: VendorChannel,
  rows: readonly { hash: string }[],
): Promise<string[]> {
  const column = ADDRESS_COLUMNS[channel].hash;
  const hashes = byteaLiteral(rows.map(({ hash }) => hash));
  const players = await sql<{ id: string }[]>`
    select distinct p.id from unnest(${hashes}::bytea[]) as h
    join players p on p.property_id = ${property.id} and ${column} = h`;
  return players.map(({ id }) => id);
}

/** Revokes consent, as the person's own request does: for the address and for the player of the send. */
async function takeBack(
  context: Context,
  how: { channel: VendorChannel; source: string; method: "complaint" | "provider" },
  all: readonly Consequence[],
): Promise<void> {
  if (all.length === 0) return;
  const { channel, source, method } = how;
  await revoke(context, {
    many: {
      addresses: [...new Set(all.map(({ hash }) => hash))].map((hash) => ({
        address: null,
        hash: Buffer.from(hash, "hex"),
      })),
      playerIds: [...new Set(all.flatMap(({ playerId }) => (playerId === null ? [] : [playerId])))],
    },
    channels: revokedWith(context, channel),
    method,
    source,
  });
}
