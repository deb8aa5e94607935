import type { Write } from "#db/database.ts";
import { type Fragment, identifier, join, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { commitmentOf } from "#tools/games/draw/seeds.ts";
import type { PlayedGame } from "#tools/games/game/game.ts";
import { type Standing, standingRow, storedStandings } from "./standing.ts";
import type { Drawn } from "./stock.ts";

type Ticket = NonNullable<Standing["next"]>;

export interface Played {
  playId: string;
  game: PlayedGame;
  playerId: string;
  ticket: Ticket | null;
  clientSeed: string;
  n: number;
  seed: Buffer;
  moment: string;
  drawn: Drawn;
}

const DAY_MS = 86_400_000;

/** The row of a play. */
export function playOf({ playId, game, playerId, ticket, clientSeed, n, seed, moment, drawn }: Played) {
  const { prize, named } = drawn;
  const days = prize?.redeem_within_days ?? null;
  const isGiven = prize?.kind === "free_play";
  return {
    id: playId,
    game_id: game.id,
    player_id: playerId,
    prize_id: prize?.id ?? null,
    outcome: prize ? ("win" as const) : ("lose" as const),
    status: isGiven ? "redeemed" : "revealed",
    entry: ticket?.source ?? "open",
    ticket_id: ticket?.id ?? null,
    campaign_id: ticket?.source === "campaign" ? ticket.source_id : null,
    journey_id: ticket?.source === "journey" ? ticket.source_id : null,
    odds_snapshot: drawn.snapshot,
    drawn_prize_id: named.id,
    server_seed_hash: commitmentOf(seed),
    client_seed: clientSeed,
    nonce: n,
    roll: drawn.roll,
    deck_ticket: drawn.deckTicket,
    value: prize?.value ?? 0,
    expires_at: days === null || isGiven ? null : new Date(Date.parse(moment) + days * DAY_MS).toISOString(),
    redeemed_at: isGiven ? moment : null,
    played_at: moment,
  };
}

export type Play = ReturnType<typeof playOf>;

/** Stores a play with its ticket and its standing. */
export async function store(context: Context, play: Play, stood: Standing): Promise<void> {
  const propertyId = context.property.id;
  const { id, game_id: gameId, player_id: playerId, ticket_id: ticketId } = play;
  await write(context, storedStandings, standingRow(context, { gameId, playerId }, stood));
  if (ticketId !== null) await write(context, usedTickets, { propertyId, ticketId, playId: id });
  await write(context, storedPlays, { property_id: propertyId, ...play });
}

async function write<Row>(context: Context, statements: Write<Row>, row: Row): Promise<void> {
  if (context.writeLast) return context.writeLast(statements, row);
  for (const statement of await statements([row], context.sql)) await context.sql`${statement}`;
}

function storedPlays(rows: (Play & { property_id: string })[]): Fragment[] {
  const { property_id, ...play } = rows[0]!;
  const columns = join(Object.keys(play).map(identifier));
  const stored = sql`
    insert into game_plays (property_id, ${columns})
    select ${property_id}::uuid, ${columns} from jsonb_populate_recordset(null::game_plays, ${rows}::jsonb)
    returning 1`;
  return [stored];
}

/** The players are locked, so nobody else takes the tickets. */
function usedTickets(used: { propertyId: string; ticketId: string; playId: string }[]): Fragment[] {
  return used.map(
    ({ propertyId, ticketId, playId }) => sql`
      update game_tickets set used_play_id = ${playId}, updated_at = now()
      where property_id = ${propertyId} and id = ${ticketId}`,
  );
}
