import type { Game } from "#tools/games/game/game.ts";
import type { Facts } from "./facts.ts";

/** The facts for a person's consent to let players into a game. */
export function activationWords(game: Game, { prizes, worth, mean_value, warnings }: Facts): string[] {
  return [
    `The game ${JSON.stringify(game.name)} goes live: players win prizes. Its prizes, odds and rules stay as they are.`,
    worth === null
      ? "A prize has no stock limit: the prizes may cost any sum."
      : `All its prizes together are worth ${worth} dollars.`,
    `A play is worth ${Number(mean_value.toFixed(4))} dollars on average.`,
    ...prizes.map(({ label, odds, value }) => `${JSON.stringify(label)}, ${value} dollars: ${odds}.`),
    ...warnings,
  ];
}
