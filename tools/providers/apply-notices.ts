import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { EventName } from "#runtime/operation/events.ts";
import { addressHash, normalizeEmail, reportedPhone } from "#tools/people/address.ts";
import { IS_ERASED } from "#tools/statuses/sends.ts";
import { isMachine, recordEngagement } from "#tools/tracking/engagement.ts";
import { applyConsequences, type Consequence } from "./bounce-limits.ts";
import type { ProviderRecord } from "./columns.ts";
import type { VendorChannel } from "./provider.ts";

/** The provider whose vendor sent the notices; without an id the service's own mailbox. */
export type NoticeProvider = Pick<ProviderRecord, "channel" | "kind"> & { id: string | null };

/**
 * Writes a provider's notices into their sends, once, in any order. Better knowledge is never overwritten, and an
 * unknown outcome is settled. Then applies the consequences. Sends of other providers and properties are not found.
 */
export async function applyNotices(
  context: Context,
  provider: NoticeProvider,
  notices: readonly Notice[],
): Promise<void> {
  const rows = notices.map((notice) => toRow(context, provider, notice));
  const changes = await writeNotices(context, provider, rows);
  announce(context, changes);
  const consequences = [...changes.flatMap(consequencesOf), ...ofNoSend(rows, changes)];
  await applyConsequences(context, provider, consequences);
  await engage(context, notices, changes);
}

interface Row {
  kind: string;
  send_id: string | null;
  message_id: string | null;
  /** Hex. */
  hash: string | null;
  at: string;
  permanent: boolean;
  code: string | null;
  message: string | null;
  n: number;
}

/** A notice as a row for statements; it holds only the hash of the address. */
export function toRow(
  { property }: Context,
  { channel }: Pick<NoticeProvider, "channel">,
  notice: Notice,
): Omit<Row, "n"> {
  const { kind, sendId, providerMessageId, address, at, code, message } = notice;
  const normalized =
    channel === "email"
      ? normalizeEmail(address ?? "")
      : reportedPhone(address ?? "", property.default_country);
  return {
    kind,
    send_id: sendId ?? null,
    message_id: providerMessageId || null,
    hash: normalized === null ? null : addressHash(property.pepper, normalized).toString("hex"),
    at,
    permanent: kind === "bounced" && notice.permanent,
    code: code || null,
    message: message || null,
  };
}

/** The changes of one send: each flag is set by the first notice of its kind alone. */
interface Changed {
  id: string;
  campaign_id: string | null;
  player_id: string | null;
  channel: VendorChannel;
  status: string;
  /** Hex. */
  hash: string | null;
  error_code: string | null;
  /** The vendor had taken it, and no notice said so before: our own record comes later, or never. */
  sent: boolean;
  delivered: boolean;
  hard: boolean;
  soft: boolean;
  failed: boolean;
  complained: boolean;
  unsubscribed: boolean;
  /** Indexes of the send's notices in the given list. */
  indexes: number[];
}

// A person who reads, complains or unsubscribes has received the message.
const ARRIVED = ["delivered", "opened", "clicked", "complained", "unsubscribed"];

/** Our own id in a notice finds its send. Else the vendor's message id finds it, among the sends to the address. */
function matched({ sql, property }: Context, { id, channel }: NoticeProvider, rows: readonly Row[]) {
  return sql`
    notice as materialized (
      select n, kind, send_id, message_id, decode(hash, 'hex') as hash, least(at, now()) as at, permanent, code, message
      from jsonb_to_recordset(${rows}::jsonb) as t(n int, kind text, send_id uuid, message_id text, hash text,
        at timestamptz, permanent boolean, code text, message text)
    ), matched as materialized (
      select t.*, s.id from notice t join campaign_sends s
        on s.property_id = ${property.id} and s.id = t.send_id and s.provider_id is not distinct from ${id}::uuid and s.channel = ${channel}
      union
      select t.*, s.id from notice t
      join campaign_sends s on s.property_id = ${property.id} and s.address_hash = t.hash
        and s.provider_id is not distinct from ${id}::uuid
        and s.channel = ${channel} and s.provider_message_id = t.message_id
      where t.send_id is null
    ), summed as materialized (
      select id, array_agg(n) as indexes, min(at) filter (where kind = 'delivered') as delivered,
        min(at) filter (where kind = any(${ARRIVED}::text[])) as arrived,
        min(at) filter (where kind = 'bounced') as bounced,
        bool_or(kind = 'bounced' and permanent) as hard, min(at) filter (where kind = 'failed') as failed,
        min(at) filter (where kind = 'complained') as complained,
        min(at) filter (where kind = 'unsubscribed') as unsubscribed, max(message_id) as message_id,
        (array_agg(code order by permanent desc, n) filter (where kind in ('bounced', 'failed')))[1] as code,
        (array_agg(message order by permanent desc, n) filter (where kind in ('bounced', 'failed')))[1] as message
      from matched group by id
    )`;
}

async function writeNotices(
  context: Context,
  provider: NoticeProvider,
  unnumbered: readonly Omit<Row, "n">[],
): Promise<Changed[]> {
  const { sql, property } = context;
  const rows = unnumbered.map((row, n) => ({ ...row, n }));
  const changed = await sql<Changed[]>`
    with ${matched(context, provider, rows)}, before as materialized (
      select t.*, s.status, s.sent_at, s.delivered_at, s.complained_at, s.unsubscribed_at, s.bounce_type,
        case
          when s.status in ('skipped', 'bounced') then s.status
          when t.bounced is not null then 'bounced'
          when s.status = 'delivered' then s.status
          -- Failed by our own timeout, without a notice.
          when s.status = 'failed' and s.sent_at is not null then s.status
          when t.failed is not null and t.delivered is null then 'failed'
          when t.arrived is not null then 'delivered'
          else s.status
        end as next
      from summed t join campaign_sends s on s.property_id = ${property.id} and s.id = t.id
      order by s.id for no key update of s
    ), written as (
      update campaign_sends s set status = b.next,
        provider_message_id = case when not ${IS_ERASED} then coalesce(s.provider_message_id, b.message_id) end,
        sent_at = case when b.next in ('delivered', 'bounced') or b.failed is not null
          then coalesce(s.sent_at, b.arrived, b.bounced, b.failed) else s.sent_at end,
        delivered_at = case when b.next = 'delivered' then coalesce(s.delivered_at, b.delivered, b.arrived)
          else coalesce(s.delivered_at, b.delivered) end,
        bounced_at = case when b.next = 'bounced' then coalesce(s.bounced_at, b.bounced) else s.bounced_at end,
        bounce_type = case when b.bounced is null then s.bounce_type when b.hard then 'hard'
          else coalesce(s.bounce_type, 'soft') end,
        complained_at = coalesce(s.complained_at, b.complained),
        unsubscribed_at = coalesce(s.unsubscribed_at, b.unsubscribed),
        error_code = case when b.next = s.status then s.error_code when b.next = 'delivered' then null else b.code end,
        error_message = case when ${IS_ERASED} then null when b.next = s.status then s.error_message when b.next = 'delivered' then null
          else b.message end,
        updated_at = now()
      from before b where s.property_id = ${property.id} and s.id = b.id
      returning s.id, s.campaign_id, s.player_id, s.channel, s.status, encode(s.address_hash, 'hex') as hash,
        s.error_code, s.bounce_type, s.sent_at
    )
    select w.id, w.campaign_id, w.player_id, w.channel, w.status, w.hash, w.error_code, b.indexes,
      b.sent_at is null and w.sent_at is not null and (w.status in ('delivered', 'bounced')
        or w.status = 'failed' and b.status <> 'failed') as sent,
      w.status = 'delivered' and b.status <> 'delivered' as delivered,
      w.bounce_type = 'hard' and b.bounce_type is distinct from 'hard' as hard,
      coalesce(w.bounce_type = 'soft' and b.bounce_type is null, false) as soft,
      w.status = 'failed' and b.status <> 'failed' as failed,
      b.complained is not null and b.complained_at is null as complained,
      b.unsubscribed is not null and b.unsubscribed_at is null as unsubscribed
    from written w join before b on b.id = w.id order by w.id`;
  return [...changed];
}

const EVENTS = {
  sent: "campaign.message_sent",
  delivered: "campaign.message_delivered",
  failed: "campaign.message_failed",
  complained: "campaign.message_complained",
  unsubscribed: "campaign.unsubscribed",
} as const satisfies Record<string, EventName>;

/** The sends of a test emit no events. */
function announce({ emit }: Context, changes: readonly Changed[]): void {
  for (const change of changes) {
    const { id, campaign_id, player_id, channel, status, error_code } = change;
    if (campaign_id === null) continue;
    const object = { id, campaign_id, player_id, channel, status };
    for (const [kind, name] of Object.entries(EVENTS)) {
      if (change[kind as keyof typeof EVENTS])
        emit(name, { ...object, ...(["sent", "failed"].includes(kind) && { error_code }) });
    }
    if (change.hard || change.soft) {
      emit("campaign.message_bounced", { ...object, bounce_type: change.hard ? "hard" : "soft", error_code });
    }
  }
}

function consequencesOf({ hash, player_id, campaign_id, ...change }: Changed): Consequence[] {
  if (hash === null) return [];
  const about = { hash, playerId: player_id, campaignId: campaign_id };
  return (["hard", "soft", "complained", "unsubscribed"] as const)
    .filter((kind) => change[kind])
    .map((kind) => ({ kind, ...about }));
}

/**
 * Complaints and unsubscriptions count even when their message is unknown. A notice counts for nothing if it names a
 * send of ours that another provider has carried.
 */
function ofNoSend(rows: readonly Omit<Row, "n">[], changes: readonly Changed[]): Consequence[] {
  const found = new Set(changes.flatMap(({ indexes }) => indexes));
  return rows.flatMap(({ kind, hash, send_id }, index) => {
    if (hash === null || send_id !== null || found.has(index)) return [];
    if (kind !== "complained" && kind !== "unsubscribed") return [];
    return [{ kind, hash, playerId: null, campaignId: null, uncounted: true }];
  });
}

/** Records the opens and clicks from vendors in the same way as our own. */
async function engage(
  context: Context,
  notices: readonly Notice[],
  changes: readonly Changed[],
): Promise<void> {
  const engagements = changes.flatMap(({ id, indexes }) =>
    indexes.flatMap((index) => {
      const notice = notices[index]!;
      if (notice.kind !== "opened" && notice.kind !== "clicked") return [];
      return { kind: notice.kind, sendId: id, machine: isMachine("GET", notice.userAgent), at: notice.at };
    }),
  );
  if (engagements.length > 0) await recordEngagement(context, engagements);
}
