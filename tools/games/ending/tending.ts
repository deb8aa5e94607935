import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";

/** Reference to the job that ends a game at its time and lets unclaimed prizes expire. */
export const TEND_GAME = { name: "tend_game", attempts: 100, input: z.object({ gameId: z.uuid() }) };

const HOUR_MS = 3_600_000;

/** The next look after a game: at its end, or in an hour. */
export function tendLater(
  { enqueue, now }: Pick<Context, "enqueue" | "now">,
  gameId: string,
  endsAt: string | null,
): void {
  const next = Math.min(now() + HOUR_MS, endsAt === null ? Number.POSITIVE_INFINITY : Date.parse(endsAt));
  enqueue(TEND_GAME, { gameId }, { dedupe: gameId, runAt: new Date(Math.max(next, now())).toISOString() });
}
