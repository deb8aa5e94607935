import type { Context } from "#runtime/operation/context.ts";
import { keptAddress, type ListedAddress } from "#tools/compliance/listed-address.ts";
import {
  announceSuppressed,
  WRITTEN,
  type WrittenSuppression,
} from "#tools/compliance/suppression-events.ts";
import { revokedWith } from "#tools/consent/revoke.ts";

export const REVIEW_DECISIONS = ["revoke", "release"] as const;

/** The source of suppressions for queued texts: neither START nor a release lifts them. */
export const UNREAD = "sms_unread";

/** Holds sends to the number until a person has reviewed its text. */
export async function hold(
  context: Context,
  sender: ListedAddress,
  { source, messageId = null }: { source: string; messageId?: string | null },
): Promise<void> {
  const { sql, property } = context;
  const address = await keptAddress(context, sender);
  const written = await sql<WrittenSuppression[]>`
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source, player_id)
    select ${property.id}, uuid_v7(), w.channel, ${address}, ${sender.hash}, 'needs_review', ${source}, m.player_id
    from jsonb_array_elements_text(${revokedWith(context, "sms")}::jsonb) as w(channel)
    left join inbound_messages m on m.property_id = ${property.id} and m.id = ${messageId}
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, source = excluded.source, updated_at = excluded.updated_at
    returning ${WRITTEN}`;
  announceSuppressed(context, written);
}

/** Closes a message's review, or all of the number's, and lifts the hold once none is open. */
export async function settleReviews(
  { sql, property, call, emit }: Context,
  { hash }: ListedAddress,
  decision: (typeof REVIEW_DECISIONS)[number],
  messageId: string | null,
): Promise<void> {
  const by = call.actor.type === "user" ? call.actor.id : null;
  await sql`
    update inbound_messages set needs_review = false, review_decision = ${decision}, reviewed_by = ${by},
      reviewed_at = now(), updated_at = now()
    where property_id = ${property.id} and sender_hash = ${hash} and needs_review
      and id = coalesce(${messageId}::uuid, id)`;
  const lifted = await sql<{ id: string; channel: string; reason: string; player_id: string | null }[]>`
    update suppressions set lifted_at = now(), lifted_by = ${by}, updated_at = now()
    where property_id = ${property.id} and address_hash = ${hash} and reason = 'needs_review' and lifted_at is null
      and source is distinct from ${UNREAD} and not exists (select 1 from inbound_messages m
        where m.property_id = ${property.id} and m.sender_hash = ${hash} and m.needs_review)
    returning id, channel, reason, player_id`;
  for (const one of lifted) emit("player.suppression_lifted", one);
}
