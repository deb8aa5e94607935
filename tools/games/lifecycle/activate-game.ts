import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { type Context, UNBOUNDED } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { segmentFacts } from "#tools/approvals/approval.ts";
import { activate } from "../activation/activate.ts";
import { factsOf } from "../activation/facts.ts";
import { activationWords } from "../activation/words.ts";
import { checkStatus, findGame, GameView, gameEvent } from "../game/game.ts";

export default tool({
  name: "activate_game",
  title: "Activate a game",
  description:
    "Lets players into a draft: fixes its seed, odds, rules and stock, and publishes SHA-256 of the seed. Refused with every problem at once; preview_game names them before.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  input: { gameId: z.uuid().describe("From list_games"), propertyId: z.uuid() },
  output: z.object({ success: z.literal(true), game: GameView, warnings: z.array(z.string()) }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { gameId }) {
    const game = await findGame(context, gameId, { lock: "change" });
    checkStatus(game, ["draft"], "be activated");
    const segment = await keepSegment(context, game.segment_id);
    const { facts, prizes } = await factsOf(context, game);
    if (facts.errors.length > 0) {
      const details = facts.errors.map((message) => ({ field: "gameId", message }));
      throw new Fault("invalid", { message: facts.errors.join(" "), details });
    }
    const players = game.segment_id === null ? {} : await segmentFacts(context, game.segment_id);
    context.ask?.({
      state: JSON.stringify([game.id, game.version, facts, players]),
      sentences: () => activationWords(game, facts, segment),
      reach: UNBOUNDED,
    });
    const row = await activate(context, game, facts, prizes);
    context.emit("game.activated", gameEvent(row));
    return { success: true as const, game: row, warnings: facts.warnings };
  },
});

/** The segment's name. A segment that is being deleted meanwhile is gone first, or stays. */
async function keepSegment({ sql, property }: Context, segmentId: string | null): Promise<string | null> {
  if (segmentId === null) return null;
  const [segment] = await sql<{ name: string }[]>`
    select name from segments where property_id = ${property.id} and id = ${segmentId} for key share`;
  return segment?.name ?? null;
}
