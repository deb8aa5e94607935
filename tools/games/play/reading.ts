import { cte, join } from "#db/sql.ts";
import { one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { playTriggers } from "#tools/enrollments/enroll.ts";
import { type Game, gameSql } from "#tools/games/game/game.ts";
import { type Prize, prizesSql } from "#tools/games/prize/prize.ts";
import { sealedSql } from "./game-now.ts";
import { type Standing, standingSql } from "./standing.ts";

/** All that a play reads behind the player's lock. */
export interface Reading {
  game: Game;
  standing: Standing;
  /** The sealed master seed; null before the activation. */
  master: string | null;
  prizes: Prize[];
  /** Some journey may take the player in. */
  opens: boolean;
}

/** Reads it in one statement, and locks the game against a change of its state. Throws `not_found`. */
export async function readPlay(context: Context, gameId: string, playerId: string): Promise<Reading> {
  const parts = join([
    cte("game", gameSql(context, gameId, "share"), "materialized"),
    cte("standing", standingSql(context, gameId, playerId)),
    cte("sealed", sealedSql(context, gameId)),
    cte("stock", prizesSql(context, gameId)),
  ]);
  const rows = await context.sql<Reading[]>`
    with ${parts}
    select g.row as game, to_json(n) as standing, (select master from sealed) as master, s.prizes,
      exists (select from journey_triggers t where ${playTriggers(context.property.id, gameId)}) as opens
    from game g, standing n, stock s`;
  return one(rows, "game", gameId);
}
