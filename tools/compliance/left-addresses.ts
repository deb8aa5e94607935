import type { Context } from "#runtime/operation/context.ts";
import { announceSuppressed, WRITTEN, type WrittenSuppression } from "./suppression-events.ts";

/** A player's record that lets go of its email or its phone. */
export interface Leaving {
  id: string;
  email: boolean;
  phone: boolean;
}

/**
 * Suppresses the addresses that these records are about to let go of, for the channels that their persons have refused:
 * a later record with the address must not be written to. The suppression has the time of the refusal.
 */
export async function barLeftAddresses(context: Context, leaving: readonly Leaving[]): Promise<void> {
  if (leaving.length === 0) return;
  const { sql, property } = context;
  const written = await sql<WrittenSuppression[]>`
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source, player_id, updated_at)
    select ${property.id}::uuid, uuid_v7(), c.channel, c.address, c.hash, 'unsubscribed', 'refusal', p.id, (
      select coalesce(max(r.occurred_at), p.updated_at) from consent_records r
      where r.property_id = ${property.id} and r.player_id = p.id and r.channel = c.channel and not r.consent_given)
    from jsonb_to_recordset(${leaving}::jsonb) as l(id uuid, email boolean, phone boolean)
      join players p on p.property_id = ${property.id} and p.id = l.id
      cross join lateral unnest(array['email', 'sms', 'voice'], array[p.email, p.phone, p.phone],
        array[p.email_hash, p.phone_hash, p.phone_hash]) as c(channel, address, hash)
    where p.consents ->> c.channel = 'false' and c.hash is not null
      and case c.channel when 'email' then l.email else l.phone end
    order by c.hash, c.channel
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null do nothing
    returning ${WRITTEN}`;
  announceSuppressed(context, written);
}
