import type { Context } from "#runtime/operation/context.ts";
import { playerWords } from "#tools/people/words.ts";
import type { PlayerPage } from "./links.ts";

/** Pages on which the holder plays, or agrees to messages. On the others nothing is turned on. */
const ACTS_FOR_PLAYERS: ReadonlySet<PlayerPage> = new Set(["game", "push"]);

/** An agent could act as the player there, so a person reads it first. */
export function askAgent(context: Context, page: PlayerPage, playerId: string): void {
  if (context.call.transport !== "mcp" || !ACTS_FOR_PLAYERS.has(page)) return;
  context.ask?.({
    sentences: async () => [
      `Its holder acts as ${await playerWords(context, playerId)} on the page ${JSON.stringify(page)}. It is for that player alone.`,
    ],
  });
}
