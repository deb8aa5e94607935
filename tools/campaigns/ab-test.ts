import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { arrayLiteral } from "#db/types.ts";
import { timestamp } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault, type FaultDetail, invalid } from "#runtime/faults.ts";
import type { Row } from "#runtime/operation.ts";
import type { Bind } from "#tools/compliance/gate.ts";
import type { Campaign } from "./campaign.ts";
import { parsePart } from "./liquid.ts";

/** What variants are compared by, and the time in a send's row that says it was reached. */
export const METRICS = {
  open: "first_human_open_at",
  click: "first_human_click_at",
  conversion: "converted_at",
} as const;
type Metric = keyof typeof METRICS;
const METRIC_NAMES = Object.keys(METRICS) as [Metric, ...Metric[]];

const NO_OFFERS =
  "redeem cannot be measured yet, as there are no offers to redeem; use open, click or conversion";

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

/** Which variants a campaign tries on whom, and how the winner is found. */
export const AbTest = z
  .strictObject({
    variants: z.array(Variant).min(2).max(10),
    test_percent: z
      .int()
      .min(1)
      .max(100)
      .default(20)
      .describe("Gets variants at once; the rest waits for the winner"),
    metric: z.enum(METRIC_NAMES, {
      error: ({ input }) => (input === "redeem" ? NO_OFFERS : undefined),
    }),
    duration_minutes: z.int().min(1).max(2880).default(240),
    fallback_variant_id: z.string().optional().describe("Wins ties and too small a test. Default: the first"),
    min_sample: z.int().min(1).max(1_000_000).default(100).describe("Of each variant"),
  })
  .superRefine(({ variants, fallback_variant_id }, found) => {
    const ids = variants.map(({ id }) => id);
    for (const [index, id] of ids.entries()) {
      if (ids.indexOf(id) === index) continue;
      found.addIssue({ code: "custom", path: ["variants", index, "id"], message: `${id} is there twice` });
    }
    if (fallback_variant_id === undefined || ids.includes(fallback_variant_id)) return;
    found.addIssue({
      code: "custom",
      path: ["fallback_variant_id"],
      message: `is none of ${ids.join(", ")}`,
    });
  });
export type AbTest = z.output<typeof AbTest>;

/** How a test ended, with the numbers that decided. */
export const AbResult = z.object({
  winner_id: z.string(),
  reason: z
    .enum(["best", "tie", "too_few"])
    .describe("best: the highest rate. tie, too_few (a variant under min_sample): the fallback"),
  metric: z.enum(METRIC_NAMES),
  decided_at: timestamp(),
  variants: z.array(
    z.object({
      id: z.string(),
      sample: z.int().describe("Recipients sent and delivered to"),
      count: z.int().describe("Of these, who did what the metric says; of opens and clicks, people alone"),
      rate: z.number().nullable(),
    }),
  ),
});
export type AbResult = z.output<typeof AbResult>;

/** The campaign as one variant has it. */
export function withVariant(campaign: Campaign, { subject, template_id }: Variant): Campaign {
  return {
    ...campaign,
    ab_test: null,
    subject: subject ?? campaign.subject,
    template_id: template_id ?? campaign.template_id,
  };
}

/** All templates that a campaign's message may be made of, and the field that names each. */
export function templatesOf({
  template_id,
  ab_test,
}: Pick<Campaign, "template_id" | "ab_test">): { field: string; id: string }[] {
  const named = [
    { field: "template_id", id: template_id },
    ...(ab_test?.variants ?? []).map((variant, index) => {
      return { field: `ab_test.variants.${index}.template_id`, id: variant.template_id };
    }),
  ];
  return named.flatMap(({ field, id }) => (id ? [{ field, id }] : []));
}

/** Whether part of the audience waits for the winner. */
export function hasRest({ test_percent }: AbTest): boolean {
  return test_percent < 100;
}

const DRAWS = 2 ** 32;

/**
 * As SQL over `hash`: the variant that chance gives an address, null where it waits for the winner. The same each
 * time, and for all players who share the address.
 */
export function variantText(bind: Bind, id: string, { variants, test_percent }: AbTest): string {
  const total = variants.reduce((sum, { weight }) => sum + weight, 0);
  let below = 0;
  const bounds = variants.slice(0, -1).map(({ weight }) => {
    below += weight;
    return Math.ceil((below * DRAWS) / total);
  });
  const draw = (what: string) => `('x' || encode(substr(
    sha256(convert_to(${bind(`${id}|1|${what}|`, "text")}, 'UTF8') || hash), 1, 4), 'hex'))::bit(32)::bigint`;
  const ids = bind(arrayLiteral(variants.map((variant) => variant.id)), "text[]");
  return `case when ${draw("test")} < ${bind(Math.ceil((test_percent * DRAWS) / 100), "bigint")}
    then (${ids})[width_bucket(${draw("variant")}, ${bind(arrayLiteral(bounds.map(String)), "bigint[]")}) + 1] end`;
}

/** Fields that say together whether a test can be. */
export const TESTED = [
  "ab_test",
  "channel",
  "goal",
  "send_in_player_timezone",
  "body_html",
  "body_mjml",
  "body_text",
];

/** Refuses a test that the campaign cannot hold as it would be written. */
export function checkAbTest(next: Partial<Campaign> & { ab_test: AbTest }): void {
  const { channel, goal, ab_test: test } = next;
  if (test.metric !== "conversion" && channel !== "email") {
    throw invalid("ab_test.metric", `opens and clicks are counted in emails alone; use conversion`);
  }
  if (test.metric === "conversion" && !goal) {
    throw invalid("ab_test.metric", "conversion needs the campaign's goal: the event that it counts");
  }
  if (next.send_in_player_timezone && hasRest(test)) {
    throw invalid(
      "send_in_player_timezone",
      "who waits for the winner of a test cannot get it at their own hour; set test_percent to 100",
    );
  }
  for (const [index, variant] of test.variants.entries()) checkVariant(next, variant, index);
}

function checkVariant(next: Partial<Campaign>, { subject, template_id }: Variant, index: number): void {
  const field = `ab_test.variants.${index}`;
  if (subject && next.channel === "sms") throw invalid(`${field}.subject`, "a text message has none");
  if (subject) parsePart(`${field}.subject`, subject, "text");
  const own = [next.body_html, next.body_mjml, next.body_text].some((body) => typeof body === "string");
  if (template_id && own) {
    throw invalid(`${field}.template_id`, "the campaign has a body of its own, which goes before templates");
  }
}

/** Refuses another test than the one that recipients were drawn for: only what variants say can change. */
export function checkSameTest(current: Row, test: AbTest | null): void {
  const drawn = (one: AbTest | null) =>
    one && {
      ...one,
      fallback_variant_id: one.fallback_variant_id ?? null,
      variants: one.variants.map(({ id, weight }) => ({ id, weight })),
    };
  const before = current.ab_test as AbTest | null;
  if (isDeepStrictEqual(drawn(before), drawn(test))) return;
  throw new Fault("conflict", {
    message:
      "The campaign is paused; of ab_test, only the subjects, templates and names of its variants can be changed now.",
  });
}

/** What stands in the way of a test in the property as it is set. */
export function testTrouble({ property }: Pick<Context, "property">, { ab_test }: Campaign): FaultDetail[] {
  if (!ab_test || ab_test.metric === "conversion" || property.tracking === "on") return [];
  const message = `the property's tracking is off, so that no ${ab_test.metric} is counted`;
  return [{ field: "ab_test.metric", message }];
}
