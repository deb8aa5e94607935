import { z } from "zod";

export const MOST_WEIGHT = 2_147_483_647;

/** The weights of a draw, in their order. Their sum is the denominator. */
export const Odds = z.strictObject({
  denominator: z.int().min(1).max(MOST_WEIGHT),
  prizes: z.array(z.strictObject({ prize_id: z.uuid(), weight: z.int().min(1) })),
});
export type Odds = z.output<typeof Odds>;

/** The odds of prizes in this order. */
export function oddsOf(prizes: readonly { id: string; weight: number }[]): Odds {
  return {
    denominator: prizes.reduce((sum, { weight }) => sum + weight, 0),
    prizes: prizes.map(({ id, weight }) => ({ prize_id: id, weight })),
  };
}

/** The prize that a number below the denominator names. */
export function prizeAt({ prizes }: Odds, number: number): string {
  let end = 0;
  for (const { prize_id, weight } of prizes) {
    end += weight;
    if (number < end) return prize_id;
  }
  throw new RangeError(`${number} is beyond the odds`);
}
