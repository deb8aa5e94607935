import { z } from "zod";
import {
  type AbResult,
  type AbTest,
  hasRest,
  METRIC_NAMES,
  rated,
  VariantCount,
} from "#tools/campaigns/campaign/ab-test.ts";

/** The normal approximation wants so many who reached the metric, and so many who did not, in both variants. */
const LEAST_EXPECTED = 5;
const ALPHA = 0.05;

export const AbComparison = z
  .object({
    metric: z.enum(METRIC_NAMES),
    variants: z
      .array(VariantCount)
      .describe("The recipients of the test, without those who waited for the winner"),
    leader_id: z.string().nullable().describe("The highest rate; null at a tie, or without messages"),
    runner_up_id: z.string().nullable().describe("The next highest rate: the leader is compared with it"),
    lead: z
      .number()
      .nullable()
      .describe("The leader's rate less the runner-up's: 0.02 is two percentage points"),
    p_value: z.number().nullable().describe("Two-proportion z-test, two-sided; null with too few messages"),
    verdict: z
      .enum(["not_enough_messages", "not_significant", "significant"])
      .describe(
        "At 95 %. Frequent looks at a running test show chance as an effect more often. not_enough_messages: a variant is under min_sample, or fewer than 5 recipients of the best two are expected to reach or miss the metric",
      ),
    winner_id: z.string().nullable().describe("The variant that the rest got; null while the test runs"),
  })
  .describe("Which variant of ab_test leads, and whether that is more than chance. null without ab_test");
export type AbComparison = z.output<typeof AbComparison>;

interface Tested {
  ab_test: AbTest | null;
  ab_result: AbResult | null;
}

/**
 * Compares the two best variants of a test. Once the rest has got the winner, the counts are those of the choice: the
 * winner's later recipients were not drawn by chance.
 */
export function compareVariants(
  { ab_test, ab_result }: Tested,
  counted: (id: string, metric: AbTest["metric"]) => { sample: number; count: number },
): AbComparison | null {
  if (!ab_test) return null;
  const { metric, min_sample } = ab_test;
  const variants =
    ab_result && hasRest(ab_test)
      ? ab_result.variants
      : ab_test.variants.map(({ id }) => rated({ id, ...counted(id, metric) }));
  const [first, second] = variants.toSorted((one, other) => (other.rate ?? -1) - (one.rate ?? -1));
  const lead = first!.rate === null || second!.rate === null ? null : first!.rate - second!.rate;
  const isEnough = variants.every(({ sample }) => sample >= min_sample) && fitsTest(first!, second!);
  const p_value = isEnough ? pValue(first!, second!) : null;
  return {
    metric,
    variants,
    leader_id: lead ? first!.id : null,
    runner_up_id: lead ? second!.id : null,
    lead,
    p_value,
    verdict: p_value === null ? "not_enough_messages" : p_value < ALPHA ? "significant" : "not_significant",
    winner_id: ab_result?.winner_id ?? null,
  };
}

type Share = Pick<VariantCount, "sample" | "count">;

const pooled = (one: Share, other: Share) => (one.count + other.count) / (one.sample + other.sample);

function fitsTest(one: Share, other: Share): boolean {
  const share = pooled(one, other);
  const least = Math.min(one.sample, other.sample);
  return least * Math.min(share, 1 - share) >= LEAST_EXPECTED;
}

function pValue(one: Share, other: Share): number {
  const share = pooled(one, other);
  const error = Math.sqrt(share * (1 - share) * (1 / one.sample + 1 / other.sample));
  const z = Math.abs(one.count / one.sample - other.count / other.sample) / error;
  return erfc(z / Math.SQRT2);
}

/** The complementary error function of x >= 0, to 1.5e-7: Abramowitz and Stegun 7.1.26. */
function erfc(x: number): number {
  const t = 1 / (1 + 0.3275911 * x);
  const series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  return t * series.reduce((sum, factor) => sum * t + factor, 0) * Math.exp(-x * x);
}
