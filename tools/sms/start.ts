import type { Context } from "#runtime/operation/context.ts";
import type { ListedAddress } from "#tools/compliance/listed-address.ts";
import { announceAnswer, record } from "#tools/consent/ledger.ts";
import { UNREAD } from "./reviews.ts";

/**
 * Applies START after STOP. It lifts only the number's stop_keyword suppression for texts, and grants consent to
 * players whose last record for texts was that STOP. A later STOP stays. Answers whether a suppression was lifted.
 */
export async function resume(context: Context, sender: ListedAddress, receivedAt: string): Promise<boolean> {
  const { sql, property, emit } = context;
  const lifted = await sql<{ id: string; channel: string; reason: string; player_id: string | null }[]>`
    update suppressions set lifted_at = now(), updated_at = now()
    where property_id = ${property.id} and address_hash = ${sender.hash} and channel = 'sms'
      and reason = 'stop_keyword' and lifted_at is null
      and (source is distinct from ${UNREAD} or updated_at <= ${receivedAt}::timestamptz)
      and not exists (select 1 from inbound_messages m
        where m.property_id = ${property.id} and m.sender_hash = ${sender.hash} and m.action = 'stop'
          and m.received_at > ${receivedAt}::timestamptz)
    returning id, channel, reason, player_id`;
  if (lifted.length === 0) return false;
  for (const one of lifted) emit("player.suppression_lifted", one);
  const rows = await record(context, {
    playerIds: await playersWhoStopped(context, sender),
    channels: ["sms"],
    action: "granted",
    source: "sms",
    method: "start_keyword",
  });
  for (const row of rows) announceAnswer(context, row);
  return true;
}

async function playersWhoStopped({ sql, property }: Context, { hash }: ListedAddress): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select p.id from players p
    join lateral (
      select c.action, c.collection_method from consent_records c
      where c.property_id = ${property.id} and c.player_id = p.id and c.channel = 'sms' and c.purpose = 'marketing'
      order by c.occurred_at desc, c.id desc limit 1) last
      on last.action = 'revoked' and last.collection_method = 'stop_keyword'
    where p.property_id = ${property.id} and p.phone_hash = ${hash} and p.deleted_at is null
      and p.status <> 'erased'
    order by p.id`;
  return rows.map(({ id }) => id);
}
