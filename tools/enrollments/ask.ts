import type { Context } from "#runtime/operation/context.ts";
import { playerWords } from "#tools/people/words.ts";

/** The most players and journeys that a question names. */
const MOST_NAMED = 5;

interface Moved {
  /** The words before "enter": what the agent reports. */
  cause: string;
  journeys: readonly string[];
  players: readonly string[];
  /** How many of the players move. */
  moved: number;
}

/**
 * Asks before an agent's report moves players in published journeys, which may write to them. Other callers are the
 * casino's own systems, whose events the journey was published for.
 */
export function askBeforeMoving(context: Context, { cause, journeys, players, moved }: Moved): void {
  const { transport, review } = context.call;
  if (moved === 0 || (transport !== "mcp" && review !== "approved")) return;
  context.ask?.({
    sentences: async () => {
      const named: string[] = [];
      for (const id of players.slice(0, MOST_NAMED)) named.push(await playerWords(context, id));
      return [
        `${cause}. By it ${listed(named, players.length)} ${players.length === 1 ? "enters or goes" : "enter or go"} on in ${journeys.length === 1 ? "the journey" : "the journeys"} ${listed(
          journeys.map((name) => JSON.stringify(name)),
          journeys.length,
        )}, which may write to ${players.length === 1 ? "them" : "them all"}.`,
      ];
    },
    reach: { players: () => moved, cost: () => null },
  });
}

function listed(names: readonly string[], count: number): string {
  const shown = names.slice(0, MOST_NAMED);
  return count > shown.length ? `${shown.join(", ")} and ${count - shown.length} more` : shown.join(", ");
}
