import { fieldWords } from "#runtime/operation/record-words.ts";
import { quoted } from "#runtime/visible-text.ts";
import type { Game } from "#tools/games/game/game.ts";
import type { Facts } from "./facts.ts";

const MOST_DESCRIPTION = 1_000;

/** The facts for a person's consent to let players into a game. `segment`: the name of the players' segment. */
export function activationWords(
  game: Game,
  { prizes, worth, mean_value, warnings }: Facts,
  segment: string | null,
): string[] {
  return [
    `The game ${quoted(game.name)} goes live: players win prizes. Its prizes, odds and rules stay as they are.`,
    segment === null
      ? "Every player whom nothing bars may play."
      : `Only players of the segment ${quoted(segment)} may play.`,
    ...pageWords(game),
    worth === null
      ? "A prize has no stock limit: the prizes may cost any sum."
      : `All its prizes together are worth ${worth} dollars.`,
    `A play is worth ${Number(mean_value.toFixed(4))} dollars on average.`,
    ...prizes.map(({ label, odds, value }) => `${quoted(label)}, ${value} dollars: ${odds}.`),
    ...warnings,
  ];
}

/** The caller's texts and addresses on the players' pages. */
function pageWords({ description, sponsor, rules_url, free_entry_url }: Game): string[] {
  const named = Object.entries({ sponsor, rules_url, free_entry_url }).filter(([, value]) => value !== null);
  return [
    ...(description ? [`Its pages say: ${quoted(description, MOST_DESCRIPTION)}`] : []),
    ...(named.length > 0 ? [`They name ${fieldWords(Object.fromEntries(named))}.`] : []),
  ];
}
