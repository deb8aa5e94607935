import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { Fault } from "#runtime/faults.ts";
import { CHANNELS, type Channel } from "#tools/compliance/channels.ts";
import { gateReasons } from "#tools/compliance/gate.ts";

/** What a player agrees to where they turn a channel on again: shown as it stands, and kept in the ledger. */
export const CONSENT_VERSION = "preference-page-1";
export const CONSENT_TEXTS: Partial<Record<Channel, (name: string) => string>> = {
  email: (name) =>
    `Yes, ${name} may send me marketing email. I can stop it at any time by the link in each message.`,
};

export const Preference = z.object({
  channel: z.enum(CHANNELS),
  on: z.boolean().describe("Messages may go out by it now"),
  can_turn_on: z
    .boolean()
    .describe("The link proves the address, and nothing but the player's own wish is in the way"),
});
export type Preference = z.output<typeof Preference>;

export interface Recipient {
  player_id: string | null;
  /** The channel whose address the link was sent to, while it is still the player's. */
  proved: Channel | null;
  preferences: Preference[];
}

// The player's own wishes, which the player may change.
const WISHES = ["no_consent", "consent_expired", "suppressed"];

/**
 * Where the recipient of a send may be written to now, as the gate says it, for each channel that the player has an
 * address for. With no player any more, there is the send's own channel: on while its address is that
 * of another player who has not refused. Throws `not_found`.
 */
export async function preferencesOf(
  { sql, property }: Pick<Context, "sql" | "property">,
  sendId: string,
): Promise<Recipient> {
  const gates = CHANNELS.map(
    (channel) => sql`, ${gateReasons(sql, { property, channel })} as ${sql(channel)}`,
  );
  const [row] = await sql<(Row & Record<Channel, string[] | null>)[]>`
    select s.channel as sent_by, exists (select 1 from players h where h.property_id = ${property.id} and h.email_hash = s.address_hash
        and h.deleted_at is null and h.consents ->> 'email' is distinct from 'false') as passed_on,
      p.id as player_id, p.email is not null as email_known,
      p.phone is not null as phone_known, coalesce(p.consents ? 'push', false) as push_known,
      s.address_hash = case s.channel when 'email' then p.email_hash else p.phone_hash end as is_theirs,
      exists (select 1 from suppressions x where x.property_id = ${property.id} and x.lifted_at is null
        and x.reason not in ('unsubscribed', 'stop_keyword') and x.channel in (s.channel, 'all')
        and (x.address_hash = s.address_hash
          or x.player_id = p.id and x.reason not in ('hard_bounce', 'soft_bounce_limit', 'invalid'))) as held
      ${gates}
    from campaign_sends s
    left join players p on p.property_id = ${property.id} and p.id = s.player_id and p.deleted_at is null
      and p.status <> 'erased'
    where s.property_id = ${property.id} and s.id = ${sendId}`;
  if (!row) {
    throw new Fault("not_found", { message: `No campaign send with the id ${sendId} in this property.` });
  }
  if (row.player_id === null) {
    return {
      player_id: null,
      proved: null,
      preferences: [{ channel: row.sent_by, on: row.passed_on, can_turn_on: false }],
    };
  }
  const proved = row.is_theirs && row.sent_by in CONSENT_TEXTS ? row.sent_by : null;
  const known = {
    email: row.email_known,
    sms: row.phone_known,
    voice: row.phone_known,
    push: row.push_known,
  };
  const preferences = CHANNELS.filter((channel) => known[channel]).map((channel) => {
    const reasons = row[channel] ?? [];
    const free = reasons.every((reason) => WISHES.includes(reason));
    return {
      channel,
      on: reasons.length === 0,
      can_turn_on: reasons.length > 0 && free && channel === proved && !row.held,
    };
  });
  return { player_id: row.player_id, proved, preferences };
}

interface Row {
  sent_by: Channel;
  passed_on: boolean;
  player_id: string | null;
  email_known: boolean;
  phone_known: boolean;
  push_known: boolean;
  is_theirs: boolean | null;
  held: boolean;
}
