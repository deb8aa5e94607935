import { toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { findGame, type Game } from "#tools/games/game/game.ts";
import { checkEligible, type Entrant } from "#tools/games/play/entrant.ts";

const MOST_GAMES = 50;

/** The running games that a player may play, those that end first in front. */
export async function openGames(context: Context, player: Entrant): Promise<Game[]> {
  const { sql, property } = context;
  const running = await sql<{ id: string }[]>`
    select id from games
    where property_id = ${property.id} and status = 'active' and deleted_at is null
      and (starts_at is null or starts_at <= now()) and (ends_at is null or ends_at > now())
    order by ends_at nulls last, activated_at desc, id limit ${MOST_GAMES}`;
  const open: Game[] = [];
  for (const { id } of running) {
    const game = await findGame(context, id);
    if (await isEligible(context, game, player)) open.push(game);
  }
  return open;
}

async function isEligible(context: Context, game: Game, player: Entrant): Promise<boolean> {
  try {
    await checkEligible(context, game, player);
    return true;
  } catch (error) {
    if (toFault(error).code === "not_eligible") return false;
    throw error;
  }
}
