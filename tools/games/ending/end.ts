import type { Context } from "#runtime/operation/context.ts";
import { update } from "#runtime/operation/rows.ts";
import { type Game, gameEvent } from "#tools/games/game/game.ts";
import games from "#tools/games/games.table.ts";
import { masterOf } from "#tools/games/play/game-now.ts";

/** Ends a locked game for good, and reveals its master seed. No play is under way: each one locks its game. */
export async function endGame(context: Context, { id }: Pick<Game, "id">, reason: string): Promise<void> {
  const master = await masterOf(context, id);
  const row = await update(context, games, id, {
    status: "ended",
    status_reason: reason,
    ended_at: "now",
    master_seed: master.toString("hex"),
  });
  context.emit("game.ended", { ...gameEvent(row), master_seed: row.master_seed });
}
