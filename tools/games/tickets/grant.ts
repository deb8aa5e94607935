import { cast, type Fragment, literals, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { OPEN_GAMES } from "#tools/statuses/games.ts";
import { BARRED_STATUSES } from "#tools/statuses/players.ts";

export const SOURCES = ["journey", "campaign", "share", "free_entry", "prize", "manual"] as const;
export type TicketSource = (typeof SOURCES)[number];

/** A condition on `players p`: nothing bars the player from all games. */
export function mayPlay(propertyId: string): Fragment {
  const excluded = (column: Fragment) => sql`exists (
    select from suppressions s where s.property_id = ${propertyId}::uuid and s.address_hash = ${column}
      and s.reason = 'self_excluded' and s.lifted_at is null and (s.expires_at is null or s.expires_at > now()))`;
  return sql`(p.deleted_at is null and p.status <> all(${BARRED_STATUSES}::text[])
    and not ${excluded(sql`p.email_hash`)} and not ${excluded(sql`p.phone_hash`)})`;
}

/** A grant of tickets for one game. */
export interface Grant {
  gameId: string;
  source: TicketSource;
  sourceId: string | null;
  /** ISO time; null: the ticket lasts as long as the game. */
  expiresAt: string | null;
}

/**
 * Gives tickets. `wanted`: rows of `player_id, key`. A barred player gets none, and a key gives a player one ticket,
 * however often it is granted. Answers the number of new tickets.
 */
export async function grantTickets(
  { sql: transaction, property }: Tenant,
  { gameId, source, sourceId, expiresAt }: Grant,
  wanted: Fragment,
): Promise<number> {
  const granted = await transaction<{ id: string }[]>`
    insert into game_tickets (property_id, id, game_id, player_id, source, source_id, key, expires_at)
    select ${property.id}::uuid, uuid_v7(), g.id, w.player_id, ${source}::text, ${sourceId}::uuid, w.key,
      ${expiresAt === null ? sql`null::timestamptz` : cast(expiresAt, "timestamptz")}
    from (${wanted}) w
      join games g on g.property_id = ${property.id}::uuid and g.id = ${gameId}::uuid and g.deleted_at is null
        and g.status in (${literals(OPEN_GAMES)})
      join players p on p.property_id = ${property.id}::uuid and p.id = w.player_id and ${mayPlay(property.id)}
    order by w.player_id, w.key
    on conflict (property_id, game_id, player_id, key) do nothing
    returning id`;
  return granted.length;
}
