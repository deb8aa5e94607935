import { z } from "zod";
import { type Fragment, sql as fragment, identifier, join } from "#db/sql.ts";
import { invalid, one } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { CHANNELS, type Channel } from "#tools/compliance/channels.ts";
import { gateReasons } from "#tools/compliance/gate.ts";

export const Preference = z.object({
  channel: z.enum(CHANNELS),
  on: z.boolean().describe("The gate allows messages on the channel now"),
  can_turn_on: z
    .boolean()
    .describe(
      "Whether the link can turn it on: it proves the address, and only the player's own request bars it",
    ),
});
export type Preference = z.output<typeof Preference>;

export interface RecipientPreferences {
  player_id: string | null;
  /** The channel of the address that got the link, while the player still has that address. */
  proved: Channel | null;
  preferences: Preference[];
}

// The suppressions that the player requested, and may lift.
const WISHES = ["no_consent", "consent_expired", "suppressed"];

/** The holder of a link: the recipient of a send, or a player. */
export type Holder = { sendId: string } | { playerId: string };

/** The holder that an input names. Throws `invalid` unless it names one. */
export function holderOf({
  sendId,
  playerId,
}: {
  sendId?: string | undefined;
  playerId?: string | undefined;
}): Holder {
  if (sendId !== undefined && playerId === undefined) return { sendId };
  if (playerId !== undefined && sendId === undefined) return { playerId };
  throw invalid("sendId", "give sendId or playerId, and not both");
}

/**
 * Says for each channel of the recipient's addresses whether the gate lets messages pass now. Without a player, it is
 * the send's channel alone: on while another player has the address and has not refused. Throws `not_found`.
 */
export async function preferencesOf(context: Tenant, holder: Holder): Promise<RecipientPreferences> {
  const send =
    "sendId" in holder ? await findSend(context, holder.sendId) : await findPlayer(context, holder.playerId);
  if (send.player_id === null) {
    return {
      player_id: null,
      proved: null,
      preferences: [{ channel: send.sent_by!, on: send.passed_on, can_turn_on: false }],
    };
  }
  const proved = send.is_theirs && send.sent_by === "email" ? "email" : null;
  const known = {
    email: send.email_known,
    sms: send.phone_known,
    voice: send.phone_known,
    push: send.push_known,
  };
  const preferences = CHANNELS.filter((channel) => known[channel]).map((channel) => {
    const reasons = send[channel] ?? [];
    const isOwnWish = reasons.every((reason) => WISHES.includes(reason));
    return {
      channel,
      on: reasons.length === 0,
      can_turn_on: reasons.length > 0 && isOwnWish && channel === proved && !send.is_barred,
    };
  });
  return { player_id: send.player_id, proved, preferences };
}

/** A send with its player, and the gate's reasons by channel. */
interface SendRow extends Record<Channel, string[] | null> {
  /** Null for a player who came by no message. */
  sent_by: Channel | null;
  /** Another player has the address now, and has not refused. */
  passed_on: boolean;
  player_id: string | null;
  email_known: boolean;
  phone_known: boolean;
  push_known: boolean;
  is_theirs: boolean | null;
  /** A suppression stands that the player did not request. */
  is_barred: boolean;
}

async function findSend({ sql, property }: Tenant, sendId: string): Promise<SendRow> {
  const sends = await sql<SendRow[]>`
    select s.channel as sent_by,
      exists (select 1 from players h where h.property_id = ${property.id} and h.email_hash = s.address_hash
        and h.deleted_at is null and h.consents ->> 'email' is distinct from 'false') as passed_on,
      p.id as player_id, p.email is not null as email_known,
      p.phone is not null as phone_known, coalesce(p.consents ? 'push', false) as push_known,
      s.address_hash = case s.channel when 'email' then p.email_hash else p.phone_hash end as is_theirs,
      exists (select 1 from suppressions x where x.property_id = ${property.id} and x.lifted_at is null
        and x.reason not in ('unsubscribed', 'stop_keyword') and x.channel in (s.channel, 'all')
        and (x.address_hash = s.address_hash
          or x.player_id = p.id and x.reason not in ('hard_bounce', 'soft_bounce_limit', 'invalid'))) as is_barred
      ${gatesOf(property)}
    from campaign_sends s
    left join players p on p.property_id = ${property.id} and p.id = s.player_id and p.deleted_at is null
      and p.status <> 'erased'
    where s.property_id = ${property.id} and s.id = ${sendId}`;
  return one(sends, "campaign send", sendId);
}

/** A player's own link proves no address, so it turns nothing on. */
async function findPlayer({ sql, property }: Tenant, playerId: string): Promise<SendRow> {
  const players = await sql<SendRow[]>`
    select null as sent_by, false as passed_on, p.id as player_id, p.email is not null as email_known,
      p.phone is not null as phone_known, coalesce(p.consents ? 'push', false) as push_known, null as is_theirs,
      false as is_barred ${gatesOf(property)}
    from players p
    where p.property_id = ${property.id} and p.id = ${playerId} and p.deleted_at is null and p.status <> 'erased'`;
  return one(players, "player", playerId);
}

/** The gate's reasons of each channel, over `players p`. */
function gatesOf(property: Tenant["property"]): Fragment {
  const gates = CHANNELS.map(
    (channel) => fragment`, ${gateReasons({ property, channel })} as ${identifier(channel)}`,
  );
  return join(gates, "");
}
