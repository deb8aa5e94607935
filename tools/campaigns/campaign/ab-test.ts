import { z } from "zod";
import { cast, type Fragment, sql } from "#db/sql.ts";
import { timestamp } from "#runtime/operation/columns.ts";

/** The metrics that compare variants, each with the column of a send that holds its time. */
export const METRICS = {
  open: "first_human_open_at",
  click: "first_human_click_at",
  conversion: "converted_at",
  redeem: "redeemed_at",
} as const;
type Metric = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as [Metric, ...Metric[]];

const Variant = z.strictObject({
  id: z
    .string()
    .refine((id) => /^[a-z0-9][a-z0-9_-]{0,39}$/.test(id), "must be 1 to 40 of a-z, 0-9, _ and -, such as a"),
  name: z.string().trim().max(200).optional(),
  weight: z.int().min(1).max(10_000).default(1),
  subject: z.string().trim().min(1).max(500).nullish().describe("Default: the campaign's"),
  template_id: z.uuid().nullish().describe("From list_templates"),
});
export type Variant = z.output<typeof Variant>;

/** The variants of a campaign, the share of the audience that tries them, and the rule for the winner. */
export const AbTest = z
  .strictObject({
    variants: z.array(Variant).min(2).max(10),
    test_percent: z
      .int()
      .min(1)
      .max(100)
      .default(20)
      .describe("Gets variants at once; the rest waits for the winner"),
    metric: z.enum(METRIC_NAMES),
    duration_minutes: z.int().min(1).max(2880).default(240),
    fallback_variant_id: z.string().optional().describe("Wins ties and too small a test. Default: the first"),
    min_sample: z.int().min(1).max(1_000_000).default(100).describe("Of each variant"),
  })
  .superRefine(({ variants, fallback_variant_id }, issues) => {
    const ids = variants.map(({ id }) => id);
    for (const [index, id] of ids.entries()) {
      if (ids.indexOf(id) === index) continue;
      issues.addIssue({ code: "custom", path: ["variants", index, "id"], message: `${id} is there twice` });
    }
    if (fallback_variant_id === undefined || ids.includes(fallback_variant_id)) return;
    issues.addIssue({
      code: "custom",
      path: ["fallback_variant_id"],
      message: `is none of ${ids.join(", ")}`,
    });
  });
export type AbTest = z.output<typeof AbTest>;

/** The figures of one variant in a test. */
export const VariantCount = z.object({
  id: z.string(),
  sample: z.int().describe("Recipients sent and delivered to"),
  count: z.int().describe("Of these, recipients who reached the metric; opens and clicks by people alone"),
  rate: z.number().nullable(),
});
export type VariantCount = z.output<typeof VariantCount>;

export function rated(one: Omit<VariantCount, "rate">): VariantCount {
  return { ...one, rate: one.sample === 0 ? null : one.count / one.sample };
}

/** The end of a test, with its numbers. */
export const AbResult = z.object({
  winner_id: z.string(),
  reason: z
    .enum(["best", "tie", "too_few"])
    .describe("best: the highest rate. tie, too_few (a variant under min_sample): the fallback"),
  metric: z.enum(METRIC_NAMES),
  decided_at: timestamp(),
  variants: z.array(VariantCount),
});
export type AbResult = z.output<typeof AbResult>;

/** Whether part of the audience waits for the winner. */
export function hasRest({ test_percent }: AbTest): boolean {
  return test_percent < 100;
}

const DRAWS = 2 ** 32;

/**
 * As SQL over `hash`: the variant that chance gives an address; null where it waits for the winner. Every draw of an
 * address gives the same, for all players who share it.
 */
export function drawnVariant(id: string, { variants, test_percent }: AbTest): Fragment {
  const total = variants.reduce((sum, { weight }) => sum + weight, 0);
  let below = 0;
  const bounds = variants.slice(0, -1).map(({ weight }) => {
    below += weight;
    return Math.ceil((below * DRAWS) / total);
  });
  const draw = (purpose: string) => sql`('x' || encode(substr(
    sha256(convert_to(${`${id}|1|${purpose}|`}::text, 'UTF8') || hash), 1, 4), 'hex'))::bit(32)::bigint`;
  const ids = cast(
    variants.map((variant) => variant.id),
    "text[]",
  );
  return sql`case when ${draw("test")} < ${Math.ceil((test_percent * DRAWS) / 100)}::bigint
    then (${ids})[width_bucket(${draw("variant")}, ${cast(bounds, "bigint[]")}) + 1] end`;
}
