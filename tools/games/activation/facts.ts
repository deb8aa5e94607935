import { toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Game } from "#tools/games/game/game.ts";
import { lawsInForce } from "#tools/games/law/law.ts";
import { type Prize, prizesOf } from "#tools/games/prize/prize.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { shownName, themeOf } from "#tools/themes/theme.ts";
import { problemsOf } from "./problems.ts";
import { type PrizeOdds, rulesOf } from "./rules.ts";

/** All that a person reads before a game goes live. */
export interface Facts {
  errors: string[];
  warnings: string[];
  denominator: number;
  prizes: PrizeOdds[];
  /** The value of all prizes in dollars; null where a prize has no stock limit. */
  worth: number | null;
  /** The mean value of a play in dollars. */
  mean_value: number;
  rules_text: string;
}

/** The odds, the worth, the law and the rules of a game, and the problems that keep it from going live. */
export async function factsOf(context: Context, game: Game): Promise<{ facts: Facts; prizes: Prize[] }> {
  const prizes = await prizesOf(context, game.id);
  const laws = await lawsInForce(context, ["free_entry", "registration"]);
  const denominator = prizes.reduce((sum, { weight }) => sum + weight, 0);
  const worth = worthOf(game, prizes);
  const theme = await themeOf(context);
  const codes = await codesLeft(context);
  const { errors, warnings } = problemsOf(context, { game, prizes, laws, worth, denominator, theme, codes });
  errors.push(...(await segmentProblems(context, game)));
  const odds = prizes.map(({ id, label, kind, value, weight, inventory_total }) => ({
    prize_id: id,
    label,
    kind,
    value,
    weight,
    odds: `${weight} in ${denominator}`,
    inventory_total: game.draw === "deck" && kind !== "no_prize" ? weight : inventory_total,
  }));
  const mean = prizes.reduce(
    (sum, { kind, value, weight }) => sum + (kind === "no_prize" ? 0 : value * weight),
    0,
  );
  const facts = {
    errors,
    warnings,
    denominator,
    prizes: odds,
    worth,
    mean_value: denominator > 0 ? mean / denominator : 0,
    rules_text: rulesOf(context, game, { prizes: odds, worth, casino: shownName(theme, context.property) }),
  };
  return { facts, prizes };
}

/** Nobody plays a game whose segment is gone, or whose rules name what is gone. */
async function segmentProblems({ sql, property }: Context, { segment_id }: Game): Promise<string[]> {
  if (segment_id === null) return [];
  try {
    await audienceOf(sql, property.id, segment_id);
    return [];
  } catch (error) {
    const { status, message } = toFault(error);
    if (status >= 500) throw error;
    return [`segment_id: ${message} Give the game another segment, or none.`];
  }
}

/** The codes that no claim has taken, by pool. */
async function codesLeft({ sql, property }: Context): Promise<Map<string, number>> {
  const pools = await sql<{ pool_id: string; free: number }[]>`
    select pool_id, count(*)::int as free from prize_codes
    where property_id = ${property.id} and play_id is null group by pool_id`;
  return new Map(pools.map(({ pool_id, free }) => [pool_id, free]));
}

function worthOf({ draw }: Game, prizes: readonly Prize[]): number | null {
  let worth = 0;
  for (const { kind, value, weight, inventory_total } of prizes) {
    if (kind === "no_prize" || value === 0) continue;
    const stock = draw === "deck" ? weight : inventory_total;
    if (stock === null) return null;
    worth += value * stock;
  }
  return worth;
}
