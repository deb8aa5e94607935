import { literals } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { endGame } from "../ending/end.ts";
import { TEND_GAME, tendLater } from "../ending/tending.ts";
import { findGame, type Game } from "../game/game.ts";
import { OPEN_PLAYS } from "../play/columns.ts";

/** Ends a game whose time has come or whose deck is drawn, and lets prizes expire that nobody has redeemed. */
export default job({
  ...TEND_GAME,
  handler: ({ transact }, { gameId }) => transact((context) => tend(context, gameId)),
});

async function tend(context: Context, gameId: string): Promise<void> {
  const { sql, property } = context;
  const game = await findGame(context, gameId, { lock: "change" });
  const isLive = game.status === "active" || game.status === "paused";
  const end = isLive ? await endOf(context, game) : null;
  if (end !== null) await endGame(context, game, end);
  await sql`
    update game_plays set status = 'expired', code_hash = null, code_sealed = null, updated_at = now()
    where property_id = ${property.id} and game_id = ${gameId} and expires_at <= now()
      and status in (${literals(OPEN_PLAYS)}) and outcome = 'win' returning 1`;
  const [open] = await sql<[{ some: boolean }]>`
    select exists (select from game_plays
      where property_id = ${property.id} and game_id = ${gameId} and outcome = 'win'
        and status in (${literals(OPEN_PLAYS)}) and expires_at is not null) as some`;
  const goesOn = isLive && end === null;
  if (goesOn || open.some) tendLater(context, gameId, goesOn ? game.ends_at : null);
}

/** The reason for which a game is over; null while it is not. The end of a deck publishes the order of its tickets. */
async function endOf({ sql, property, now }: Context, { id, draw, odds, ends_at }: Game) {
  if (ends_at !== null && Date.parse(ends_at) <= now()) return "Its time was over.";
  if (draw !== "deck") return null;
  const [counts] = await sql<{ next_ticket: number }[]>`
    select next_ticket from game_counts where property_id = ${property.id} and game_id = ${id}`;
  return counts && counts.next_ticket >= odds!.denominator ? "All its tickets were drawn." : null;
}
