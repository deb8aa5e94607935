import { committing, Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { checkEligible, lockEntrant } from "./entrant.ts";
import { checkActive, countPlay } from "./game-now.ts";
import { readPlay } from "./reading.ts";
import { type Standing, wayIn } from "./standing.ts";

interface Wanted {
  gameId: string;
  playerId: string;
  nonce: number | undefined;
}

/** All that the play reads, and the way in. A refusal has written nothing. */
export async function admitted(context: Context, { gameId, playerId, nonce }: Wanted) {
  try {
    // One round trip: the second statement sees what was committed before the player's lock was this play's.
    const [player, reading] = await Promise.all([
      lockEntrant(context, playerId),
      readPlay(context, gameId, playerId),
    ]);
    const { game, standing } = reading;
    await checkEligible(context, game, player);
    checkNext(standing, nonce);
    checkActive(game, standing.moment);
    const entry = wayIn(game, standing);
    await countPlay(context, game);
    return { ...reading, entry };
  } catch (error) {
    throw error instanceof Fault ? committing(error) : error;
  }
}

function checkNext({ nonce: last }: Standing, wanted: number | undefined): void {
  if (wanted === undefined || wanted === last + 1) return;
  throw new Fault("conflict", {
    message: `The player's next play of this game is number ${last + 1}, and not ${wanted}.`,
  });
}
