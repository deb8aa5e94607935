import { sql } from "#db/sql.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { grantTickets } from "./grant.ts";

/** A ticket that a campaign's link brings, and that its recipient does not have yet. */
export interface WaitingTicket {
  campaignId: string;
  gameId: string;
  expiresAt: string | null;
}

/** The ticket of the message by whose link a player has come; null where there is none, or the player has it. */
export async function waitingTicket(
  { sql: transaction, property }: Tenant,
  { playerId, sendId }: { playerId: string; sendId: string },
): Promise<WaitingTicket | null> {
  const [ticket] = await transaction<WaitingTicket[]>`
    select c.id as "campaignId", c.game_ticket ->> 'game_id' as "gameId", to_json(e.at) #>> '{}' as "expiresAt"
    from campaign_sends s
      join campaigns c on c.property_id = ${property.id} and c.id = s.campaign_id
      cross join lateral (select coalesce(s.sent_at, s.created_at)
        + make_interval(days => (c.game_ticket ->> 'expires_in_days')::int) as at) e
    where s.property_id = ${property.id} and s.id = ${sendId} and s.player_id = ${playerId}
      and jsonb_typeof(c.game_ticket) = 'object' and (e.at is null or e.at > now())
      and not exists (select from game_tickets t
        where t.property_id = ${property.id} and t.player_id = ${playerId}
          and t.game_id::text = c.game_ticket ->> 'game_id' and t.key = ${KEY} || c.id::text)`;
  return ticket ?? null;
}

const KEY = "campaign:";

/** Gives it. A campaign gives a player one ticket, however often its link is opened. */
export async function takeTicket(
  context: Context,
  playerId: string,
  { campaignId, gameId, expiresAt }: WaitingTicket,
): Promise<void> {
  await grantTickets(
    context,
    { gameId, source: "campaign", sourceId: campaignId, expiresAt },
    sql`select ${playerId}::uuid as player_id, ${`${KEY}${campaignId}`}::text as key`,
  );
}
