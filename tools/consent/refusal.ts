import { Fault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Channel } from "#tools/compliance/channels.ts";

/** A refusal or revocation that stands. */
export interface StandingRefusal {
  /** ISO time. */
  at: string;
  /** Whether the consent was given later. */
  isEarlier: boolean;
  /** The ledger of the player has it. Else an address is barred, which stays barred by a consent that lifts nothing. */
  isWord: boolean;
}

/**
 * The refusal of a channel that stands against a player: the last word of the ledger, or a suppression that the person
 * asked for. A deleted record of the same address counts as the player's.
 */
export async function standingRefusal(
  { sql, property }: Tenant,
  playerId: string,
  channel: Channel,
  occurredAt: string | undefined,
): Promise<StandingRefusal | null> {
  const hash = channel === "email" ? sql`p.email_hash` : sql`p.phone_hash`;
  const [refusal] = await sql<{ at: string | null; earlier: boolean; word: boolean }[]>`
    with own as materialized (
      select p.id, ${hash} as hash from players p where p.property_id = ${property.id} and p.id = ${playerId}
    ), people as materialized (
      select id from own
      union
      select p.id from own o join players p on p.property_id = ${property.id} and ${hash} = o.hash
      where p.deleted_at is not null
    ), words as (
      select distinct on (c.player_id) c.action, c.occurred_at as at
      from people q join consent_records c on c.property_id = ${property.id} and c.player_id = q.id
      where c.channel = ${channel} and c.purpose = 'marketing' and c.action <> 'expired'
      order by c.player_id, c.occurred_at desc, c.consent_given, c.id desc
    ), refusals as (
      select at, true as word from words where action in ('denied', 'revoked')
      union all
      select s.updated_at, false from own o join suppressions s on s.property_id = ${property.id}
        and (s.address_hash = o.hash or s.player_id = o.id)
      where s.channel = ${channel} and s.reason in ('unsubscribed', 'stop_keyword') and s.lifted_at is null
        and (s.expires_at is null or s.expires_at > now())
    )
    select to_json(max(at)) #>> '{}' as at, coalesce(bool_or(word), false) as word, coalesce(max(at) < ${occurredAt ?? null}::timestamptz, false) as earlier
    from refusals`;
  return refusal?.at ? { at: refusal.at, isEarlier: refusal.earlier, isWord: refusal.word } : null;
}

/** Refuses a consent that does not prove that the person has lifted the refusal. */
export function checkLifts({ at, isEarlier }: StandingRefusal, channel: Channel, isProven: boolean): void {
  if (isEarlier && isProven) return;
  throw new Fault("conflict", {
    message: `The player's last word on ${channel} is a refusal, of ${at}, and only the person lifts it. Give consentSource, consentText or consentVersion, and occurredAt: when the person agreed, which is later than that. An implied consent lifts none.`,
  });
}
