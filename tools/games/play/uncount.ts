import type { Context } from "#runtime/operation/context.ts";

interface Voided {
  game_id: string;
  player_id: string | null;
  prize_id: string | null;
  entry: string;
  /** ISO time. */
  played_at: string;
  deck_ticket: number | null;
}

/**
 * Takes a voided play out of the limits, and gives its prize back to the stock: not that of a deck, whose ticket is
 * drawn. The player is locked before the prize, as a play does it.
 */
export async function uncount(context: Context, play: Voided): Promise<void> {
  const { sql, property } = context;
  const [facts] = await sql<[{ day: string; counts: boolean }]>`
    select (${play.played_at}::timestamptz at time zone coalesce(reset_timezone, ${property.timezone}::text))::date::text as day,
      cost ->> 'type' <> 'free' or ${play.entry} = 'open' as counts
    from games where property_id = ${property.id} and id = ${play.game_id}`;
  if (play.player_id) await uncountPlayer(context, play, facts);
  const back = play.deck_ticket === null ? 1 : 0;
  await sql`
    update game_prizes
    set inventory_remaining = inventory_remaining + ${back}::int,
      won_today = case when won_on = ${facts.day}::date then greatest(won_today - 1, 0) else won_today end
    where property_id = ${property.id} and id = ${play.prize_id} returning 1`;
}

async function uncountPlayer(
  { sql, property }: Context,
  { game_id, player_id, prize_id }: Voided,
  { day, counts }: { day: string; counts: boolean },
): Promise<void> {
  // A play writes the standing that it has read under this lock.
  await sql`select from players where property_id = ${property.id} and id = ${player_id} for no key update`;
  const [own] = await sql<{ plays: number; today: number; day: string; wins: Record<string, number> }[]>`
    select plays, today, day::text, wins from game_standings
    where property_id = ${property.id} and player_id = ${player_id} and game_id = ${game_id}`;
  if (!own) return;
  const less = counts ? 1 : 0;
  const wins = { ...own.wins };
  if (prize_id && wins[prize_id]) wins[prize_id] -= 1;
  await sql`
    update game_standings set plays = ${own.plays - less}, today = ${own.today - (own.day === day ? less : 0)}, wins = ${wins}
    where property_id = ${property.id} and player_id = ${player_id} and game_id = ${game_id} returning 1`;
}
