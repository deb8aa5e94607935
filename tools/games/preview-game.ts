import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { factsOf } from "./activation/facts.ts";
import { findGame } from "./game/game.ts";

export default tool({
  name: "preview_game",
  title: "Preview a game",
  description:
    "Shows a game's odds, the worth of its prizes, the warnings of the law, and the rules that players will read. Names every problem that keeps it from going live.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { gameId: z.uuid().describe("From list_games"), propertyId: z.uuid() },
  output: z.object({
    ok: z.boolean().describe("activate_game would accept it"),
    errors: z.array(z.string()),
    warnings: z.array(z.string()),
    denominator: z.int(),
    prizes: z.array(
      z.object({
        prize_id: z.uuid(),
        label: z.string(),
        kind: z.string(),
        value: z.number(),
        weight: z.int(),
        odds: z.string(),
        inventory_total: z.int().nullable(),
      }),
    ),
    worth: z.number().nullable().describe("Of all prizes, in dollars; null where a prize has no stock limit"),
    mean_value: z.number().describe("Of a play, in dollars"),
    rules_text: z.string(),
  }),
  faults: ["not_found"],
  async handler(context, { gameId }) {
    const game = await findGame(context, gameId);
    const { facts } = await factsOf(context, game);
    const errors = game.status === "draft" ? facts.errors : [`The game is ${game.status}.`];
    const rules = game.rules_text ?? facts.rules_text;
    return { ok: errors.length === 0, ...facts, errors, rules_text: rules };
  },
});
