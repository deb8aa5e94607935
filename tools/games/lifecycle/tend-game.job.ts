import type { Context } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { endGame } from "../ending/end.ts";
import { TEND_GAME, tendLater } from "../ending/tending.ts";
import { findGame } from "../game/game.ts";

/** Ends a game whose time has come, and lets prizes expire that nobody has redeemed. */
export default job({
  ...TEND_GAME,
  handler: ({ transact }, { gameId }) => transact((context) => tend(context, gameId)),
});

async function tend(context: Context, gameId: string): Promise<void> {
  const { sql, property, now } = context;
  const game = await findGame(context, gameId, { lock: "change" });
  const isLive = game.status === "active" || game.status === "paused";
  const isOver = isLive && game.ends_at !== null && Date.parse(game.ends_at) <= now();
  if (isOver) await endGame(context, game, "Its time was over.");
  await sql`
    update game_plays set status = 'expired', code_hash = null, code_sealed = null, updated_at = now()
    where property_id = ${property.id} and game_id = ${gameId} and expires_at <= now()
      and status in ('revealed', 'claimed', 'needs_tax_form') and outcome = 'win' returning 1`;
  const [open] = await sql<[{ some: boolean }]>`
    select exists (select from game_plays
      where property_id = ${property.id} and game_id = ${gameId} and outcome = 'win'
        and status in ('revealed', 'claimed', 'needs_tax_form') and expires_at is not null) as some`;
  if ((isLive && !isOver) || open.some) tendLater(context, gameId, isLive && !isOver ? game.ends_at : null);
}
