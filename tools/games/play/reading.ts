import { cte, join, sql } from "#db/sql.ts";
import { one } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { playTriggers } from "#tools/enrollments/enroll.ts";
import { type PlayedGame, playedGameSql } from "#tools/games/game/game.ts";
import { prizesSql, type StoredPrize } from "#tools/games/prize/prize.ts";
import { sealedSql } from "./game-now.ts";
import { type Present, presentParts, type Standing, type Stored, standingAt, storedSql } from "./standing.ts";

/** All that a play reads behind the player's lock. */
export interface GameState {
  game: PlayedGame;
  standing: Standing;
  /** The sealed master seed; null before the activation. */
  sealed: string | null;
  prizes: StoredPrize[];
  /** Some journey may take the player in. */
  opens: boolean;
}

/** Reads it, and locks the game against a change of its state. Throws `not_found`. */
export async function readPlay(context: Context, gameId: string, playerId: string): Promise<GameState> {
  const { sql: transaction, property } = context;
  const pair = { gameId, playerId };
  const zone = sql`select coalesce(row ->> 'reset_timezone', ${property.timezone}::text) as zone from game`;
  const parts = join([
    cte("game", playedGameSql(context, gameId), "materialized"),
    ...presentParts(context, pair, zone),
    cte("stored", storedSql(context, pair)),
    cte("sealed", sealedSql(context, gameId)),
    cte("stock", prizesSql(context, gameId)),
  ]);
  const rows = await transaction<Read[]>`
    with ${parts}
    select g.row as game, to_json(n) as present, (select to_json(o) from stored o) as stored,
      (select master from sealed) as sealed, s.prizes,
      exists (select from journey_triggers t where ${playTriggers(property.id, gameId)}) as opens
    from game g, present n, stock s`;
  const { stored, present, ...state } = one(rows, "game", gameId);
  return { ...state, standing: standingAt(stored, present) };
}

interface Read extends Omit<GameState, "standing"> {
  stored: Stored | null;
  present: Present;
}
