import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { revokedWith, suppressRevoked } from "#tools/consent/revoke.ts";
import { suppressSender } from "#tools/sms/inbound.ts";
import { saysStop } from "#tools/voice-calls/news.ts";
import { type NoticeProvider, toRow } from "./apply-notices.ts";

const METHODS = { complained: "complaint", unsubscribed: "provider" } as const;

/**
 * Suppresses the addresses of notices that ask to stop, when the rest of their work waits on the queue. It locks no
 * player, so another writer cannot block it.
 */
export async function suppressAddresses(
  context: Context,
  provider: NoticeProvider,
  notices: readonly Notice[],
): Promise<void> {
  for (const notice of notices) if (notice.kind === "inbound") await suppressSender(context, notice);
  const hashes = await addressed(context, provider, await stopsAmong(context, notices));
  for (const [kind, method] of Object.entries(METHODS)) {
    const addresses = hashes.filter((one) => one.kind === kind);
    await suppressRevoked(context, {
      many: { addresses: addresses.map(({ hash }) => ({ hash, address: null })), playerIds: [] },
      channels: revokedWith(context, provider.channel),
      method,
      source: provider.kind,
    });
  }
}

/** The notices that ask to stop by their kind, and the calls in which the person said so. */
async function stopsAmong(context: Context, notices: readonly Notice[]): Promise<Notice[]> {
  const stops: Notice[] = [];
  for (const notice of notices) {
    if (notice.kind === "call" && (await saysStop(context, notice))) {
      const { eventId, at, sendId } = notice;
      stops.push({ kind: "unsubscribed", eventId, at, sendId });
    }
    if (notice.kind === "complained" || notice.kind === "unsubscribed") stops.push(notice);
  }
  return stops;
}

/**
 * The addresses of the notices' sends, or of the notices. A complaint counts here once the property's limit is reached.
 */
async function addressed(
  context: Context,
  { id, channel }: NoticeProvider,
  notices: readonly Notice[],
): Promise<{ kind: string; hash: Buffer }[]> {
  if (notices.length === 0) return [];
  const { sql, property } = context;
  const rows = notices.map((notice) => toRow(context, { channel }, notice));
  return sql<{ kind: string; hash: Buffer }[]>`
    with notice_addresses as (
      select distinct t.kind, coalesce(s.address_hash, decode(t.hash, 'hex')) as hash,
        case when t.send_id is null then t.message_id end as message_id
      from jsonb_to_recordset(${rows}::jsonb) as t(kind text, send_id uuid, hash text, message_id text)
      left join campaign_sends s on s.property_id = ${property.id} and s.id = t.send_id and s.provider_id = ${id}
        and s.channel = ${channel}
      where t.send_id is null or s.id is not null
    )
    select distinct kind, hash from notice_addresses, properties l
    where l.id = ${property.id} and hash is not null and (kind <> 'complained' or exists (
      select from campaign_sends s
      where s.property_id = ${property.id} and s.address_hash = notice_addresses.hash and s.channel = ${channel}
      having l.complaint_limit <= 1 + count(*) filter (where s.complained_at is not null)
        or message_id is not null and not coalesce(bool_or(s.provider_message_id = message_id), false)))`;
}
