import { one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import { keptAddress, type ListedAddress } from "#tools/compliance/listed-address.ts";
import { stopSends } from "#tools/compliance/sends-under-way.ts";
import {
  announceSuppressed,
  WRITTEN,
  type WrittenSuppression,
} from "#tools/compliance/suppression-events.ts";
import type { SuppressionReason } from "#tools/compliance/suppressions.table.ts";
import { endWithout } from "#tools/enrollments/end.ts";
import { addressHash } from "#tools/people/address.ts";
import { type LedgerRow, record } from "./ledger.ts";

export const REVOCATION_METHODS = [
  "stop_keyword",
  "one_click",
  "preference_page",
  "voice_keypress",
  "voice_speech",
  "agent",
  "written",
  "api",
] as const;

/** An address in the lists; null when only its hash is known. */
type KnownAddress = Pick<ListedAddress, "hash"> & { address: string | null };

/** A revocation: by one of `playerId`, `address` and `many`, for these channels. */
export interface Revocation {
  playerId?: string;
  address?: ListedAddress;
  /** The addresses with all their players, and further players; missing players are skipped. */
  many?: { addresses: KnownAddress[]; playerIds: string[] };
  channels: Channel[];
  /** `complaint` and `provider` (unsubscribed there) come from vendors. */
  method: (typeof REVOCATION_METHODS)[number] | "complaint" | "provider";
  reason?: string | undefined;
  source?: string | undefined;
  /** The person's own words, where somebody has heard them. */
  evidence?: string | undefined;
  requestedAt?: string | undefined;
  ip?: string | undefined;
}

export interface Revoked {
  revoked: Channel[];
  playerIds: string[];
  effective_at: string;
  confirm_by: string;
}

const CONFIRM_WITHIN_BUSINESS_DAYS = 10;

/**
 * Revokes consent in the caller's transaction: ledger rows of all concerned players, suppressions, cancelled sends,
 * events. No message to them starts after it. An address without players is suppressed too. A request older than a
 * later opt-in still suppresses: in doubt nothing is sent.
 */
export async function revoke(context: Context, revocation: Revocation): Promise<Revoked> {
  const { channels, method } = revocation;
  const times = await readTimes(context, revocation.requestedAt);
  const playerIds = await playersOf(context, revocation);
  const rows = await record(context, {
    playerIds,
    channels,
    action: "revoked",
    source: revocation.source ?? revocation.reason,
    text: revocation.evidence,
    method,
    ip: revocation.ip,
    occurredAt: revocation.requestedAt,
  });
  await suppress(context, revocation, rows);
  await stopSends(context, playerIds, channels, "suppressed");
  await endWithout(context, playerIds, channels);
  announce(context, revocation, rows);
  return { revoked: channels, playerIds, ...times };
}

/**
 * Writes only a revocation's suppressions, when another transaction locks its players: from now on nothing is sent. The
 * revocation itself must follow.
 */
export function suppressRevoked(
  context: Context,
  revocation: Pick<Revocation, "address" | "many" | "channels" | "method" | "source">,
): Promise<void> {
  return suppress(context, revocation, []);
}

/** Revoking one kind of contact by phone revokes both, unless the property says otherwise. */
export function revokedWith({ property }: Pick<Context, "property">, channel: Channel): Channel[] {
  const byPhone = channel === "sms" || channel === "voice";
  return byPhone && property.revocation_scope === "all_channels_phone" ? ["sms", "voice"] : [channel];
}

async function readTimes({ sql, property }: Context, requestedAt: string | undefined) {
  const [times] = await sql<{ effective_at: string; confirm_by: string }[]>`
    select to_json(now()) #>> '{}' as effective_at,
      to_json((
        select (requested at time zone ${property.timezone}::text + make_interval(days => n)) at time zone
          ${property.timezone}::text
        from generate_series(1, 30) as n
        where extract(isodow from requested at time zone ${property.timezone}::text + make_interval(days => n)) < 6
        order by n offset ${CONFIRM_WITHIN_BUSINESS_DAYS - 1}::int limit 1)) #>> '{}' as confirm_by
    from (select coalesce(${requestedAt ?? null}::timestamptz, now()) as requested) as t`;
  return times!;
}

/** The named player, or all players with the address. Deleted players count too: they may be restored. */
async function playersOf(
  { sql, property }: Context,
  { playerId, address, many }: Revocation,
): Promise<string[]> {
  const addresses = many?.addresses ?? (address && [address]);
  const rows = addresses?.map(({ hash }) => ({ hash: hash.toString("hex") }));
  const others = (many?.playerIds ?? []).map((id) => ({ id }));
  const players = rows
    ? await sql<{ id: string }[]>`
        with wanted as materialized (
          select decode(hash, 'hex') as hash from jsonb_to_recordset(${rows}::jsonb) as w(hash text))
        select p.id from wanted w join players p on p.property_id = ${property.id} and p.email_hash = w.hash
        union
        select p.id from wanted w join players p on p.property_id = ${property.id} and p.phone_hash = w.hash
        union
        select p.id from jsonb_to_recordset(${others}::jsonb) as o(id uuid)
          join players p on p.property_id = ${property.id} and p.id = o.id and p.status <> 'erased'
        order by id`
    : await sql<{ id: string }[]>`
        select id from players where property_id = ${property.id} and id = ${playerId!} and deleted_at is null`;
  if (!rows) one(players, "player", playerId);
  return players.map((player) => player.id);
}

/**
 * One suppression a channel, for the named address and for each player's own. A player without an address for the
 * channel (push has none) is suppressed by a hash of the id, so the row applies to the player.
 */
async function suppress(context: Context, revocation: Revocation, rows: LedgerRow[]): Promise<void> {
  const { sql, property } = context;
  const { address: given, channels, method, source } = revocation;
  // Vendors' notices give only the hash.
  const addresses = given
    ? [{ hash: given.hash, address: await keptAddress(context, given) }]
    : (revocation.many?.addresses ?? []);
  const named = addresses.map(({ hash, address }) => ({
    hash: hash.toString("hex"),
    address,
    player_id: null,
  }));
  const wanted = [
    ...channels.flatMap((channel) => named.map((one) => ({ channel, ...one }))),
    ...rows.map(({ channel, player_id, address_hash }) => ({
      channel,
      player_id,
      hash: address_hash ?? addressHash(property.pepper, `player:${player_id}`).toString("hex"),
      address: null,
    })),
  ];
  const written = await sql<WrittenSuppression[]>`
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source, player_id)
    select ${property.id}, uuid_v7(), w.channel,
      coalesce(w.address, case w.channel when 'email' then p.email when 'push' then null else p.phone end),
      decode(w.hash, 'hex'), ${reasonOf(method)}, ${source ?? method},
      w.player_id
    from (
      select channel, hash, max(address) as address,
        (array_agg(player_id order by player_id) filter (where player_id is not null))[1] as player_id
      from jsonb_to_recordset(${wanted}::jsonb)
        as w(channel text, hash text, address text, player_id uuid)
      group by channel, hash) w
    left join players p on p.property_id = ${property.id} and p.id = w.player_id
    order by w.hash, w.channel
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, address = coalesce(suppressions.address, excluded.address),
      player_id = coalesce(suppressions.player_id, excluded.player_id), updated_at = excluded.updated_at
    returning ${WRITTEN}`;
  announceSuppressed(context, written);
}

function reasonOf(method: Revocation["method"]): SuppressionReason {
  return method === "stop_keyword" || method === "complaint" ? method : "unsubscribed";
}

function announce({ emit }: Context, { channels, method }: Revocation, rows: LedgerRow[]): void {
  for (const { id, player_id, channel, action, occurred_at } of rows) {
    emit("consent.revoked", { id, player_id, channel, action, method, occurred_at });
  }
  if (rows.length > 0) return;
  for (const channel of channels)
    emit("consent.revoked", { id: null, player_id: null, channel, action: "revoked", method });
}
